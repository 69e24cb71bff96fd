#include "runtime/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codegen/ir/fail.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/launches.h"

namespace heddle::runtime::cuda {

namespace {

struct Driver {
  Api api;
  bool usable = false;
  int devices = 0;
  std::string why;  // it is not: a sentence
};

// The driver can't be called any more in a child that was forked after it was opened, and once the process
// exits and the driver's own handlers may have run.
enum class Gone : uint8_t { no, forked, exiting };
std::atomic<Gone> gone{Gone::no};

void watch_process() {
  // A failure to register is one of memory; then a forked child meets the driver's own error.
  ::pthread_atfork(nullptr, nullptr, [] { gone.store(Gone::forked); });
  // Handlers run in reverse: before the driver's, which were registered when it was opened, and after the
  // destructors of objects that were made later and may still free memory.
  std::atexit([] { gone.store(Gone::exiting); });
}

// ", where CUDA_VISIBLE_DEVICES is '7'": it hides devices, and all of them where it makes no sense.
std::string visible_devices() {
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  return text ? fmt::format(", where CUDA_VISIBLE_DEVICES is '{}'", text) : "";
}

std::string why_no_device(const Api& api, Result result) {
  if (result == kStubLibrary)
    return "libcuda.so.1 is the CUDA toolkit's stub, not the driver's; take the folder of stubs off "
           "LD_LIBRARY_PATH, or use the device cpu";
  const char* text = "no device";
  if (result != kSuccess && (api.error_string(result, &text) != kSuccess || !text))
    text = "an error unknown to the driver";
  return fmt::format(
      "the NVIDIA driver found no GPU it can use ({}{}){}; use the device cpu", text, visible_devices(),
      result == kNotInitialized ? ", perhaps because this process was forked from one that uses "
                                  "CUDA"
                                : "");
}

// Never destroyed: no driver call may happen in static destructors, and none of ours depends on order.
const Driver& the_driver() {
  static const Driver& instance = [&]() -> const Driver& {
    Driver& found = *new Driver;
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      found.why =
          "there is no NVIDIA driver on this machine (libcuda.so.1 can't be opened); use the device cpu";
      return found;
    }
#define HEDDLE_ROW(name, symbol, parameters)                                                            \
  found.api.name = reinterpret_cast<decltype(found.api.name)>(::dlsym(library, #symbol));               \
  if (!found.api.name) {                                                                                \
    found.why = "the NVIDIA driver is too old: it lacks " #symbol "; update it, or use the device cpu"; \
    return found;                                                                                       \
  }
    HEDDLE_CUDA_FUNCTIONS(HEDDLE_ROW)
#undef HEDDLE_ROW
    Result result = found.api.init(0);
    if (result == kSuccess) result = found.api.device_count(&found.devices);
    if (result != kSuccess || found.devices == 0) {
      found.why = why_no_device(found.api, result);
      return found;
    }
    watch_process();
    found.usable = true;
    return found;
  }();
  return instance;
}

bool is_fault(Result result) {
  switch (result) {
    case kIllegalAddress:
    case kMisalignedAddress:
    case kLaunchFailed:
    case kLaunchTimeout:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kInvalidAddressSpace:
    case kInvalidPc: return true;
    default: return false;
  }
}

// What this driver can't do, whatever is asked next.
bool driver_lacks(Result result) {
  switch (result) {
    case kInvalidImage:
    case kNoBinaryForGpu:
    case kInvalidPtx:
    case kInvalidSource:
    case kUnsupportedPtxVersion:
    case kJitCompilerNotFound:
    case kJitCompilationDisabled:
    case kSharedObjectSymbolNotFound:
    case kSharedObjectInitFailed: return true;
    default: return false;
  }
}

// Kernels fault while their launcher is long elsewhere: whatever call tells of it, the kernel was launched
// before.
std::string fault_advice() {
  const std::string ours = describe_launches();
  return fmt::format(
      "a kernel that was launched before this call faulted; {}. The context can't be used any more, so "
      "restart "
      "the process; CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer finds the kernel",
      ours.empty()
          ? "all of Heddle's had been waited for, so it was someone else's in this process"
          : fmt::format("of Heddle's, these had not been waited for: {}; if it was none of them, it was "
                        "someone else's in this process",
                        ours));
}

const char* advice(Result result) {
  switch (result) {
    case kOutOfMemory: return "the device has no memory left; free some, or take a smaller problem";
    case kInvalidImage:
    case kNoBinaryForGpu:
      return "the driver loads code for its own GPUs, made by its own major version of CUDA or one before; "
             "update "
             "it, or let HEDDLE_PTXAS=driver assemble";
    case kInvalidPtx:
    case kInvalidSource:
      return "the driver does not accept the PTX, which HEDDLE_DUMP=ptx shows; is it older than CUDA 12.0, "
             "update "
             "it, else report this";
    case kUnsupportedPtxVersion: return "PTX 8.0 takes a driver of CUDA 12.0 or later; update it";
    case kJitCompilerNotFound:
      return "the driver lacks its PTX compiler; install its libnvidia-ptxjitcompiler.so beside libcuda, or "
             "let "
             "HEDDLE_PTXAS name a ptxas";
    case kJitCompilationDisabled:
      return "the driver's PTX compiler is switched off; unset CUDA_DISABLE_PTX_JIT, or let HEDDLE_PTXAS "
             "name a "
             "ptxas";
    case kSharedObjectSymbolNotFound:
    case kSharedObjectInitFailed:
      return "one of the driver's libraries, such as libnvidia-ptxjitcompiler.so, can't be used; install all "
             "of "
             "them from one version of the driver, or let HEDDLE_PTXAS name a ptxas";
    case kOperatingSystem:
      return "the system refused something to the driver: see the kernel's log, limits of memory, and the "
             "rights "
             "on /dev/nvidia*";
    case kLaunchOutOfResources: return "the CTA asks for more registers or shared memory than the device has";
    case kStreamCaptureUnsupported:
    case kStreamCaptureImplicit:
      return "the stream is being captured; prepare or run the kernel before, so that nothing is compiled or "
             "loaded now";
    case kInvalidContext:
      return "the device's primary context was reset or destroyed by someone in this process, or the stream "
             "belongs to another context";
    case kInvalidHandle:
      return "the stream was destroyed, or belongs to another device or context: Stream::wrap takes streams "
             "of "
             "the named device's primary context";
    case kDeinitialized: return "the driver has shut down: the process is exiting";
    default: return "see the CUDA driver API's reference for this code";
  }
}

}  // namespace

const Api* find_driver(const char** why) {
  const Driver& found = the_driver();
  const Gone now = gone.load(std::memory_order_relaxed);
  if (why)
    *why =
        now == Gone::forked
            ? "this process was forked from one that had opened the CUDA driver, which does not work in the "
              "child; fork before the first use of a GPU, start programs with exec, or use the device cpu"
        : now == Gone::exiting ? "the process is exiting, and the CUDA driver with it"
                               : found.why.c_str();
  return found.usable && now == Gone::no ? &found.api : nullptr;
}

const Api& driver(Location where) {
  if (const Api* api = find_driver()) return *api;
  const char* why = nullptr;
  find_driver(&why);
  fail(ErrorKind::unsupported, where, "{}", why);
}

std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

void check(Result result, Location where, const char* doing) {
  if (result == kSuccess) return;
  const Api& api = the_driver().api;
  // A newer driver's libraries may give codes that it has no words for: then it leaves null.
  const char *name = nullptr, *text = nullptr;
  const std::string number = std::to_string(int(result));
  if (api.error_name(result, &name) != kSuccess || !name) name = number.c_str();
  if (api.error_string(result, &text) != kSuccess || !text) text = "an error unknown to the driver";
  const ErrorKind kind = driver_lacks(result) ? ErrorKind::unsupported : ErrorKind::launch;
  int version = 0;
  const bool told = kind == ErrorKind::unsupported && api.driver_version(&version) == kSuccess;
  fail(kind, where, "{} failed: {} ({}){}: {}", doing, name, text,
       told ? fmt::format(" by the driver of CUDA {}", cuda_version(version)) : "",
       is_fault(result) ? fault_advice() : advice(result));
}

const DeviceInfo& device_info(int ordinal, Location where) {
  const Api& api = driver(where);
  const int count = the_driver().devices;
  if (ordinal < 0 || ordinal >= count)
    fail(ErrorKind::unsupported, where, "there is no device cuda:{}; this machine has {} GPU{}{}", ordinal,
         count, count == 1 ? "" : "s", visible_devices());
  struct Slot {
    std::mutex mutex;
    std::atomic<const DeviceInfo*> info{nullptr};
  };
  static std::vector<Slot>& slots = *new std::vector<Slot>(size_t(count));
  Slot& slot = slots[size_t(ordinal)];
  if (const DeviceInfo* info = slot.info.load(std::memory_order_acquire)) return *info;
  std::lock_guard lock(slot.mutex);
  if (const DeviceInfo* info = slot.info.load()) return *info;
  auto fresh = std::make_unique<DeviceInfo>();
  const RelaxedCapture relaxed(api);
  Device device = 0;
  check(api.device_get(&device, ordinal), where, "looking at a GPU");
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    check(api.device_attribute(&value, which, device), where, "looking at a GPU");
    return value;
  };
  fresh->ordinal = ordinal;
  fresh->sm = attribute(kComputeCapabilityMajor) * 10 + attribute(kComputeCapabilityMinor);
  fresh->multiprocessors = attribute(kMultiprocessorCount);
  fresh->shared_bytes = attribute(kSharedMemoryPerBlockOptin);
  fresh->pageable = attribute(kPageableMemoryAccess) != 0;
  char name[128] = "";
  check(api.device_name(name, sizeof name, device), where, "looking at a GPU");
  const auto end = fmt::format_to_n(fresh->name, sizeof fresh->name - 1, "{}, sm_{}", name, fresh->sm);
  *end.out = '\0';
  if (fresh->sm < 80)
    fail(ErrorKind::unsupported, where, "{} is too old: kernels need compute capability 8.0", fresh->name);
  check(api.primary_context_retain(&fresh->context, device), where, "making the GPU's primary context");
  const ContextScope scope(*fresh, where);
  check(api.stream_create(&fresh->zeroing, kStreamNonBlocking), where, "making a stream");
  slot.info.store(fresh.get(), std::memory_order_release);
  return *fresh.release();
}

int first_device(Location where) {
  if (!find_driver()) return -1;
  for (int ordinal = 0; ordinal < the_driver().devices; ++ordinal) try {
      return device_info(ordinal, where).ordinal;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;  // else it is too old
    }
  return -1;
}

ContextScope::ContextScope(const DeviceInfo& device, Location where) {
  const Api& api = driver(where);
  check(api.context_get_current(&previous_), where, "looking at the current context");
  if (previous_ == device.context) return;
  check(api.context_set_current(device.context), where, "making the GPU's context current");
  changed_ = true;
}

ContextScope::~ContextScope() {
  if (changed_) the_driver().api.context_set_current(previous_);
}

}  // namespace heddle::runtime::cuda
