// Kernels on the CPU: compiled, or interpreted.
#include <atomic>
#include <exception>

#include "codegen/ir/fail.h"
#include "codegen/ir/intern.h"
#include "runtime/cache.h"
#include "runtime/clock.h"
#include "runtime/executable.h"
#include "runtime/workers.h"

namespace heddle::runtime {

namespace {

// Carries the first exception of any worker to the launching thread.
class FirstError {
 public:
  template <class F>
  void guard(F&& run) noexcept {
    try {
      run();
    } catch (...) {
      if (!taken_.test_and_set()) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::atomic_flag taken_;
  std::exception_ptr error_;
};

class HostExecutable final : public Executable {
 public:
  explicit HostExecutable(std::unique_ptr<codegen::Program> program) : program_(std::move(program)) {}

  void run(Stream& stream, const LaunchWork& launch, Location) const override {
    FirstError first_error;
    run_workers(
        stream.threads(), launch.work.workers, program_->scratch_bytes(), [&](int64_t worker, char* scratch) {
          first_error.guard([&] { program_->run(launch.slots, launch.work.params, worker, scratch); });
        });
    first_error.rethrow();
  }

 private:
  std::unique_ptr<codegen::Program> program_;
};

}  // namespace

std::unique_ptr<Executable> make_host_executable(const KernelSource& source, const ir::Function& lowered,
                                                 CodeOrigin& origin) {
  Clock::time_point start = Clock::now();
  CacheOutcome outcome;
  const std::shared_ptr<const Entry> entry = Cache::of_process().get_or_create(
      source.name, codegen::cache_key_text(lowered),
      [&] {
        codegen::Artifact artifact = codegen::compile(lowered);
        return Entry{{{"object", std::move(artifact.code)},
                      {"scratch_bytes", std::to_string(artifact.scratch_bytes)}}};
      },
      &outcome);
  origin.codegen_ms = milliseconds_since(start);
  origin.cache_hit = outcome.source != CacheOutcome::Source::made;
  origin.cache_path = intern(outcome.path);
  const std::string* code = entry->find("object");
  const std::string* scratch_bytes = entry->find("scratch_bytes");
  if (!code || !scratch_bytes)
    fail(ErrorKind::cache, source.where, "kernel '{}': the cache entry {} lacks its code; remove that file",
         source.name, outcome.path);
  start = Clock::now();
  std::unique_ptr<codegen::Program> program =
      codegen::load({.code = *code, .scratch_bytes = std::stoll(*scratch_bytes)});
  origin.load_ms = milliseconds_since(start);
  return std::make_unique<HostExecutable>(std::move(program));
}

std::unique_ptr<Executable> make_interpreter_executable(std::unique_ptr<ir::Function> lowered) {
  return std::make_unique<HostExecutable>(codegen::interpreter_program(std::move(lowered)));
}

}  // namespace heddle::runtime
