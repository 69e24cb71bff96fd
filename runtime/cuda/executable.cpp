// Kernels on NVIDIA GPUs: PTX from the code generator, cubin from an assembler, both cached; launches.
#include <algorithm>

#include "codegen/ir/fail.h"
#include "codegen/ir/intern.h"
#include "runtime/arguments.h"
#include "runtime/cache.h"
#include "runtime/clock.h"
#include "runtime/cuda/assemble.h"
#include "runtime/cuda/assembly_report.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/launches.h"
#include "runtime/cuda/reach.h"
#include "runtime/executable.h"

namespace heddle::runtime {

namespace {

using cuda::Api;
using cuda::check;
using cuda::DeviceInfo;

constexpr int kWorkParams = sizeof(codegen::WorkCount::params) / sizeof(int64_t);
// CTAs along x; more workers than that fill rows of a grid of two axes.
constexpr int64_t kMaxGridX = INT32_MAX, kMaxGridY = 65535;

class CudaExecutable final : public Executable {
 public:
  CudaExecutable(const KernelSource& source, const DeviceInfo& device, const std::string& cubin,
                 const std::string& assembled_by, const std::string& entry, int threads, int64_t shared_bytes,
                 Location where)
      : source_(source),
        name_(intern(source.name)),
        device_(device),
        api_(cuda::driver(where)),
        threads_(threads),
        shared_bytes_(shared_bytes) {
    const std::string doing = fmt::format("loading kernel '{}', assembled by {}", source.name, assembled_by);
    const cuda::ContextScope scope(device, where);
    check(api_.module_load_data(&module_, cubin.data()), where, doing.c_str());
    try {
      check(api_.module_function(&function_, module_, entry.c_str()), where, doing.c_str());
      if (shared_bytes > 48 * 1024)  // more must be opted in to
        check(api_.function_set(function_, cuda::kMaxDynamicSharedSizeBytes, int(shared_bytes)), where,
              doing.c_str());
      check(api_.function_get(&registers_, cuda::kNumRegs, function_), where, doing.c_str());
      check(api_.function_get(&local_bytes_, cuda::kLocalSizeBytes, function_), where, doing.c_str());
    } catch (...) {
      api_.module_unload(module_);
      throw;
    }
  }
  // What the assembler said of the code, and the driver where it did not.
  GpuCode resources(const cuda::AssemblyReport& report, const std::string& assembled_by) const {
    GpuCode code{.assembler = intern(assembled_by),
                 .registers = report.registers >= 0 ? report.registers : registers_,
                 .stack_bytes = report.stack_bytes >= 0 ? report.stack_bytes : local_bytes_,
                 .spill_store_bytes = report.spill_store_bytes,
                 .spill_load_bytes = report.spill_load_bytes,
                 .shared_bytes = std::max<int64_t>(0, report.shared_bytes) + shared_bytes_};
    if (code.stack_bytes == 0 && code.spill_store_bytes < 0)  // there is nowhere to spill to
      code.spill_store_bytes = code.spill_load_bytes = 0;
    return code;
  }

  // The module stays loaded: kernels are destroyed at exit, when the driver may be gone, and a launch may
  // still run.

  void run(Stream& stream, const LaunchWork& launch, Location where) const override {
    int64_t tail[kWorkParams + 1];
    std::copy_n(launch.work.params, codegen::kGpuWorkParams, tail);
    tail[codegen::kGpuWorkParams] = launch.work.workers;
    void* parameters[kMaxSlots + kWorkParams + 1];
    int count = 0;
    for (int i = 0; i < launch.slot_count; ++i) parameters[count++] = const_cast<int64_t*>(launch.slots + i);
    for (int i = 0; i <= codegen::kGpuWorkParams; ++i) parameters[count++] = tail + i;
    // As few rows as hold them all, of equal length: fewer CTAs than there are rows find nothing to do.
    const int64_t y = (launch.work.workers - 1) / kMaxGridX + 1, x = (launch.work.workers - 1) / y + 1;
    if (y > kMaxGridY)
      fail(ErrorKind::launch, where, "kernel '{}' would need {} CTAs; at most {} can be launched at once",
           source_.name, launch.work.workers, kMaxGridX * kMaxGridY);
    const cuda::ContextScope scope(device_, where);
    cuda::check_reach(source_, device_, launch.arguments, launch.count, where);
    const auto native = static_cast<cuda::StreamHandle>(stream.native());
    const cuda::Result result =
        api_.launch_kernel(function_, unsigned(x), unsigned(y), 1, unsigned(threads_), 1, 1,
                           unsigned(shared_bytes_), native, parameters, nullptr);
    if (result != cuda::kSuccess)
      check(result, where, fmt::format("launching kernel '{}'", source_.name).c_str());
    cuda::note_launch(device_.ordinal, native, name_, where);
  }

 private:
  const KernelSource& source_;
  const char* const name_;  // outlives the kernel
  const DeviceInfo& device_;
  const Api& api_;
  const int threads_;
  const int64_t shared_bytes_;
  cuda::Module module_ = nullptr;
  cuda::Function function_ = nullptr;
  int registers_ = 0, local_bytes_ = 0;  // of a thread
};

const std::string& section(const Entry& entry, const char* name, const KernelSource& source,
                           const std::string& path) {
  if (const std::string* found = entry.find(name)) return *found;
  fail(ErrorKind::cache, source.where, "kernel '{}': the cache entry {} lacks its {}; remove that file",
       source.name, path, name);
}

}  // namespace

std::unique_ptr<Executable> make_cuda_executable(const KernelSource& source, const ir::Function& lowered,
                                                 const Schedule& schedule, const Stream& stream,
                                                 CodeOrigin& origin, Location where) {
  const DeviceInfo& info = cuda::device_info(stream.device().ordinal(), where);
  {
    const cuda::ContextScope scope(info, where);
    cuda::refuse_capture(
        static_cast<cuda::StreamHandle>(stream.native()), where,
        fmt::format(
            "kernel '{}' has to be compiled or loaded for arguments like these first, by prepare or a launch",
            source.name)
            .c_str());
  }
  const cuda::RelaxedCapture relaxed(cuda::driver(where));
  Clock::time_point start = Clock::now();
  const codegen::GpuTarget target{.sm = info.sm, .shared_bytes = info.shared_bytes};
  const std::unique_ptr<ir::Function> program = codegen::lower_gpu(lowered, schedule, target, where);
  CacheOutcome ptx_outcome;
  const std::shared_ptr<const Entry> text = Cache::of_process().get_or_create(
      source.name, codegen::gpu_key_text(*program, target),
      [&] {
        codegen::GpuKernel kernel = codegen::compile_gpu(*program, target);
        return Entry{{{"ptx", std::move(kernel.ptx)},
                      {"entry", std::move(kernel.entry)},
                      {"threads", std::to_string(kernel.threads)},
                      {"shared_bytes", std::to_string(kernel.shared_bytes)}}};
      },
      &ptx_outcome);
  const auto part = [&](const char* name) -> const std::string& {
    return section(*text, name, source, ptx_outcome.path);
  };
  const std::string &ptx = part("ptx"), &entry = part("entry");
  origin.codegen_ms = milliseconds_since(start);

  start = Clock::now();
  std::unique_ptr<CudaExecutable> executable;
  cuda::assemble(source, ptx, info, where, [&](const cuda::Assembled& assembled) {
    origin.assemble_ms = milliseconds_since(start);
    const Clock::time_point loading = Clock::now();
    const auto assembled_part = [&](const char* name) -> const std::string& {
      return section(*assembled.entry, name, source, assembled.outcome.path);
    };
    executable =
        std::make_unique<CudaExecutable>(source, info, assembled_part("cubin"), assembled.by, entry,
                                         std::stoi(part("threads")), std::stoll(part("shared_bytes")), where);
    cuda::AssemblyReport report = cuda::read_assembly_report(assembled_part("log"), entry);
    origin.gpu = executable->resources(report, assembled.by);
    origin.remarks = std::move(report.remarks);
    origin.cache_hit = ptx_outcome.source != CacheOutcome::Source::made &&
                       assembled.outcome.source != CacheOutcome::Source::made;
    origin.load_ms = milliseconds_since(loading);
  });
  origin.cache_path = intern(ptx_outcome.path);
  return executable;
}

}  // namespace heddle::runtime
