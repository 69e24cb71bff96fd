#include "runtime/cache.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <thread>
#include <vector>

#include "codegen/ir/error.h"
#include "codegen/ir/fail.h"
#include "tests/support/files.h"
#include "tests/support/log_capture.h"
#include "tests/support/temporary_folder.h"

using namespace heddle;
using namespace heddle::runtime;
using namespace heddle::test;
namespace fs = std::filesystem;
using Source = CacheOutcome::Source;

namespace {

Entry entry_of(const std::string& data) {
  return {{{"object", data}}};
}

// Asks for `text` and says where the entry came from; checks that it is the right one.
CacheOutcome ask(Cache& cache, const std::string& text) {
  CacheOutcome outcome;
  const auto entry = cache.get_or_create("kernel", text, [&] { return entry_of(text); }, &outcome);
  CHECK(*entry == entry_of(text));
  return outcome;
}

}  // namespace

TEST_CASE("the first asker makes an entry, later ones and later processes find the file") {
  const TemporaryFolder folder;
  const LogCapture log;
  Cache cache(folder.path().string());
  const CacheOutcome first = ask(cache, "k");
  CHECK(first.source == Source::made);
  CHECK(fs::is_regular_file(first.path));
  CHECK(ask(cache, "k").source == Source::disk);
  Cache again(folder.path().string());
  const CacheOutcome later = ask(again, "k");
  CHECK(later.source == Source::disk);
  CHECK(later.path == first.path);
  CHECK(ask(cache, "another").source == Source::made);
  CHECK(files_below(folder.path()).size() == 2);  // no lock, no temporary
  CHECK(log.messages().empty());
}

TEST_CASE("a damaged entry is made again, silently, and is whole afterwards") {
  const TemporaryFolder folder;
  const LogCapture log;
  Cache cache(folder.path().string());
  const std::string path = ask(cache, "k").path;
  const std::string good = read_file(path);
  const auto repaired = [&](const std::string& bytes) {
    write_file(path, bytes);
    return ask(cache, "k").source == Source::made && read_file(path) == good &&
           ask(cache, "k").source == Source::disk;
  };
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string flipped = good;
    flipped[i] ^= 0x10;
    if (!repaired(flipped)) FAIL("byte " << i);
    if (!repaired(good.substr(0, i))) FAIL("size " << i);
  }
  CHECK(log.messages().empty());
}

TEST_CASE("that an entry is made again is told once") {
  const TemporaryFolder folder;
  Cache cache(folder.path().string());
  const std::string path = ask(cache, "k").path;
  write_file(path, "x");
  const LogCapture log(LogLevel::info);
  CHECK(ask(cache, "k").source == Source::made);
  REQUIRE(log.messages().size() == 1);
  CHECK(log.messages()[0] == "cache file " + path + " is made again: it is no cache file");
}

TEST_CASE("a foreign file or folder in the fan-out's place costs a warning, not a result") {
  const TemporaryFolder folder;
  const LogCapture log;
  Cache cache(folder.path().string());
  const fs::path fan_out = fs::path(ask(cache, "k").path).parent_path();
  fs::remove_all(fan_out);
  write_file(fan_out, "a file");
  CHECK(ask(cache, "k").source == Source::made);
  CHECK(ask(cache, "k").source == Source::memory);
  CHECK(log.messages().size() == 1);
}

TEST_CASE("a cache folder deleted while the process runs is created again") {
  const TemporaryFolder folder;
  const LogCapture log;
  Cache cache((folder.path() / "cache").string());
  ask(cache, "k");
  fs::remove_all(folder.path() / "cache");
  CHECK(ask(cache, "k").source == Source::made);
  CHECK(ask(cache, "k").source == Source::disk);
  CHECK(log.messages().empty());
}

TEST_CASE("without a usable folder there is one warning, and memory holds what was made") {
  const TemporaryFolder folder;
  const LogCapture log;
  std::string directory, expected;
  SUBCASE("none is named") {
    expected = "none of HEDDLE_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder";
  }
  SUBCASE("it can't be created") {
    write_file(folder.path() / "file", "");
    directory = (folder.path() / "file" / "cache").string();
    expected = "can't be used (Not a directory)";
  }
  SUBCASE("the system won't have it") {
    directory = "/proc/heddle-cache";
    expected = "can't be used (No such file or directory)";
  }
  SUBCASE("it is open to everybody") {
    directory = folder.path().string();
    fs::permissions(folder.path(), fs::perms::all);
    expected = "could plant code";
  }
  Cache cache(directory);
  for (const char* text : {"k", "l"}) {
    const CacheOutcome outcome = ask(cache, text);
    CHECK(outcome.source == Source::made);
    CHECK(outcome.path.empty());
    CHECK(ask(cache, text).source == Source::memory);
  }
  REQUIRE(log.messages().size() == 1);
  CHECK(log.messages()[0].find(expected) != std::string::npos);
  CHECK(log.messages()[0].find("HEDDLE_CACHE_DIR") != std::string::npos);
}

TEST_CASE("many threads asking for one key make it once") {
  const TemporaryFolder folder;
  for (const bool on_disk : {true, false}) {
    const LogCapture log;
    Cache cache(on_disk ? folder.path().string() : "");
    for (int round = 0; round < 20; ++round) {
      const std::string text = "round " + std::to_string(round);
      std::atomic<int> made{0};
      std::latch start(8);
      std::vector<std::shared_ptr<const Entry>> entries(8);
      std::vector<std::thread> threads;
      for (auto& entry : entries)
        threads.emplace_back([&] {
          start.arrive_and_wait();
          entry = cache.get_or_create("kernel", text, [&] {
            ++made;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            return entry_of(text);
          });
        });
      for (std::thread& thread : threads) thread.join();
      CHECK(made == 1);
      for (const auto& entry : entries) CHECK(*entry == entry_of(text));
    }
  }
}

TEST_CASE("threads asking for different keys make them at the same time") {
  const TemporaryFolder folder;
  Cache cache(folder.path().string());
  std::latch both(2);  // each maker waits in make() for the other
  const auto make = [&] {
    both.arrive_and_wait();
    return entry_of("x");
  };
  std::thread other([&] { cache.get_or_create("kernel", "k1", make); });
  cache.get_or_create("kernel", "k2", make);
  other.join();
  CHECK(files_below(folder.path()).size() == 2);
}

TEST_CASE("what the maker throws reaches all who wait, and the next asker tries again") {
  const TemporaryFolder folder;
  Cache cache(folder.path().string());
  std::atomic<int> attempts{0}, caught{0};
  std::latch start(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      try {
        cache.get_or_create("kernel", "k", [&]() -> Entry {
          ++attempts;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          fail(ErrorKind::compile, {}, "no code for this");
        });
      } catch (const Error& error) {
        if (std::string(error.message()) == "no code for this") ++caught;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(caught == 4);
  CHECK(attempts < 4);  // those who came while it was being made did not try themselves
  CHECK(files_below(folder.path()).empty());
  CHECK(ask(cache, "k").source == Source::made);
}

TEST_CASE("a maker that asks for its own entry gets an error, not a deadlock") {
  Cache cache("");
  const LogCapture log;
  const auto nested = [&] { return *cache.get_or_create("kernel", "k", [] { return entry_of("x"); }); };
  CHECK_THROWS_AS(cache.get_or_create("kernel", "k", nested), Error);
  CHECK(ask(cache, "k").source == Source::made);
}

TEST_CASE("entries of several megabytes survive") {
  const TemporaryFolder folder;
  Cache cache(folder.path().string());
  CHECK(ask(cache, std::string(5'000'000, 'a')).source == Source::made);
  CHECK(ask(cache, std::string(5'000'000, 'a')).source == Source::disk);
}
