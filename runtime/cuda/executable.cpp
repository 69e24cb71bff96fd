// Kernels on NVIDIA GPUs: PTX from the code generator, cubin from the driver's assembler, both cached;
// launches.
#include <algorithm>

#include "codegen/ir/fail.h"
#include "codegen/ir/intern.h"
#include "runtime/arguments.h"
#include "runtime/cache.h"
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
                 const std::string& entry, int threads, int64_t shared_bytes, Location where)
      : source_(source),
        name_(intern(source.name)),
        device_(device),
        api_(cuda::driver(where)),
        threads_(threads),
        shared_bytes_(shared_bytes) {
    const std::string doing = fmt::format("loading kernel '{}'", source.name);
    const cuda::ContextScope scope(device, where);
    check(api_.module_load_data(&module_, cubin.data()), where, doing.c_str());
    try {
      check(api_.module_function(&function_, module_, entry.c_str()), where, doing.c_str());
      if (shared_bytes > 48 * 1024)  // more must be opted in to
        check(api_.function_set(function_, cuda::kMaxDynamicSharedSizeBytes, int(shared_bytes)), where,
              doing.c_str());
    } catch (...) {
      api_.module_unload(module_);
      throw;
    }
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
};

// PTX to cubin by the driver's own assembler.
std::string assemble(const std::string& ptx, const KernelSource& source, const DeviceInfo& device,
                     Location where) {
  const Api& api = cuda::driver(where);
  const cuda::ContextScope scope(device, where);
  const std::string doing = fmt::format("assembling kernel '{}'", source.name);
  char log[4096] = "";
  cuda::JitOption options[] = {cuda::kJitErrorLogBuffer, cuda::kJitErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  cuda::Link link = nullptr;
  check(api.link_create(2, options, values, &link), where, doing.c_str());
  void* cubin = nullptr;
  size_t size = 0;
  cuda::Result result = api.link_add(link, cuda::kJitInputPtx, const_cast<char*>(ptx.c_str()), ptx.size() + 1,
                                     source.name, 0, nullptr, nullptr);
  if (result == cuda::kSuccess) result = api.link_complete(link, &cubin, &size);
  std::string code;
  if (result == cuda::kSuccess) code.assign(static_cast<const char*>(cubin), size);
  api.link_destroy(link);
  // A refusal for the driver's own reasons keeps its kind and advice; the log is about the text.
  const bool ours = result != cuda::kUnsupportedPtxVersion && result != cuda::kJitCompilerNotFound;
  if (result != cuda::kSuccess && *log && ours)
    fail(ErrorKind::compile, where, "{} failed; the assembler says: {}", doing, log);
  check(result, where, *log ? fmt::format("{} (the assembler says: {})", doing, log).c_str() : doing.c_str());
  return code;
}

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
  const codegen::GpuTarget target{.sm = info.sm, .shared_bytes = info.shared_bytes};
  const std::unique_ptr<ir::Function> program = codegen::lower_gpu(lowered, schedule, target, where);
  CacheOutcome ptx_outcome, cubin_outcome;
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
  const std::string& ptx = part("ptx");
  int version = 0;
  check(cuda::driver(where).driver_version(&version), where, "asking for the driver's version");
  const std::shared_ptr<const Entry> code = Cache::of_process().get_or_create(
      source.name, fmt::format("cubin sm_{} by driver {}\n{}", info.sm, version, ptx),
      [&] { return Entry{{{"cubin", assemble(ptx, source, info, where)}}}; }, &cubin_outcome);
  origin = {.cache_hit = ptx_outcome.source != CacheOutcome::Source::made &&
                         cubin_outcome.source != CacheOutcome::Source::made,
            .cache_path = intern(ptx_outcome.path)};
  return std::make_unique<CudaExecutable>(source, info, section(*code, "cubin", source, cubin_outcome.path),
                                          part("entry"), std::stoi(part("threads")),
                                          std::stoll(part("shared_bytes")), where);
}

}  // namespace heddle::runtime
