#include "runtime/cache_lock.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

using namespace heddle::runtime;
using namespace heddle::test;
using Attempt = CacheLock::Attempt;

TEST_CASE("a held lock is busy for others, and its file goes with it") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "lock").string();
  {
    CacheLock first(path), second(path);
    CHECK(first.try_acquire() == Attempt::held);
    CHECK(second.try_acquire() == Attempt::busy);
  }
  CHECK(files_below(folder.path()).empty());
  CacheLock third(path);
  CHECK(third.try_acquire() == Attempt::held);
}

TEST_CASE("a lock file left by a killed process is taken over") {
  const TemporaryFolder folder;
  write_file(folder.path() / "lock", "");
  CacheLock lock((folder.path() / "lock").string());
  CHECK(lock.try_acquire() == Attempt::held);
}

TEST_CASE("where a lock file can't be created, locking is unavailable") {
  CacheLock lock("/proc/heddle/lock");
  CHECK(lock.try_acquire() == Attempt::unavailable);
}

TEST_CASE("no two hold a lock whose file comes and goes") {
  // Locks are held for an instant, so that many attempts open the file just before its holder removes it.
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "lock").string();
  std::atomic<int> inside{0}, together{0}, held{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int attempt = 0; attempt < 5000; ++attempt) {
        CacheLock lock(path);
        if (lock.try_acquire() != Attempt::held) continue;
        if (inside.fetch_add(1) != 0) ++together;
        ++held;
        std::this_thread::yield();
        inside.fetch_sub(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(together == 0);
  CHECK(held > 100);
}
