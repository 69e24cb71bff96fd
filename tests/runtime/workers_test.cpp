// The thread pool: every worker runs exactly once, whoever calls and however many.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "codegen/ir/error.h"
#include "runtime/workers.h"

namespace heddle::runtime {

TEST_CASE("each worker runs once") {
  for (int threads : {1, 2, 3, 16})
    for (int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(size_t(count) + 1);
      run_workers(threads, count, 64, [&](int64_t worker, char* scratch) {
        CHECK(reinterpret_cast<uintptr_t>(scratch) % 64 == 0);
        scratch[63] = 1;
        ++runs[size_t(worker)];
      });
      for (int64_t i = 0; i < count; ++i) CHECK(runs[size_t(i)] == 1);
      CHECK(runs[size_t(count)] == 0);
    }
}

TEST_CASE("many callers share the pool") {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) run_workers(3, 10, 0, [&](int64_t worker, char*) { sum += worker; });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(sum == 8 * 200 * 45);
}

TEST_CASE("scratch that can't be had is an Error, and the pool goes on") {
  CHECK_THROWS_AS(run_workers(2, 4, INT64_MAX / 4, [](int64_t, char*) {}), Error);
  std::atomic<int> runs{0};
  run_workers(2, 4, 128, [&](int64_t, char*) { ++runs; });
  CHECK(runs == 4);
}

}  // namespace heddle::runtime
