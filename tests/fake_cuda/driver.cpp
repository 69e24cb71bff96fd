// A CUDA driver without a GPU: libcuda.so.1 with the functions that Heddle uses, over host memory. It
// assembles nothing and runs nothing, but holds its callers to the rules: what needs a current context fails
// without one, objects are used in the context they were made in, launches keep within a GPU's limits.
//   FAKE_CUDA_DEVICES   how many devices there are (2)
//   FAKE_CUDA_INIT      what cuInit gives (0)
//   FAKE_CUDA_SM        compute capability of all devices (90)
//   FAKE_CUDA_VERSION   of CUDA (12000)
//   FAKE_CUDA_PAGEABLE  whether kernels may read any memory of the host (0)
//   FAKE_CUDA_IDLE      1: launches, and the two calls of the current context, neither check nor record (0);
//                       for bench/launch_cost, which times what comes before them
#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/api.h"
#include "tests/fake_cuda/control.h"

#define FAKE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace heddle::runtime::cuda {

// What the driver's opaque handles point to.
struct ContextObject {
  int device;
};
struct StreamObject {
  Context context;
  bool blocking;  // waits for the default stream, and that one for it
  CaptureStatus capture = kCaptureNone;
};
struct ModuleObject {
  Context context;
  std::string ptx{}, cubin{};  // one of them
  std::map<std::string, std::unique_ptr<FunctionObject>> functions;
};
struct FunctionObject {
  Module module;
  std::string entry;
  std::vector<int> parameter_bytes;
  int dynamic_shared_bytes = 48 * 1024;
};
struct LinkObject {
  Context context;
  std::string ptx, cubin;
  char *log = nullptr, *info = nullptr;
  size_t log_bytes = 0, info_bytes = 0;
  bool verbose = false;
};

namespace {

constexpr int kMultiprocessors = 132, kSharedBytes = 227 * 1024;
constexpr size_t kMemoryBytes = size_t(1) << 30;  // of a device
constexpr Result kNotFound{500};
constexpr int kRegisters = 40, kLocalBytes = 16;  // of every function
// What this driver's own assembler makes: the magic, how many bytes of PTX follow, and these.
const std::string kMagic = "\177ELFFAKE!";

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

struct Block {
  int device;  // -1: memory of the host that was registered
  size_t bytes;
};
struct Failure {
  Result code;
  int skip;
};

// Never destroyed: programs free memory in static destructors.
struct State {
  std::mutex mutex;
  bool initialised = false, shut_down = false;
  const int devices = number("FAKE_CUDA_DEVICES", 2);
  ContextObject primary[16] = {};
  std::map<DevicePointer, Block> blocks;
  std::set<StreamHandle> streams;
  std::set<Module> modules;
  std::set<Link> links;
  std::map<std::string, Failure> failures;
  std::map<std::string, int> calls;
  std::vector<FakeLaunch> launches;
  std::string log, info;
  int default_stream_uses = 0;
  bool peers = false;  // whether devices reach each other's memory
};

State& state() {
  static State& instance = *new State;
  return instance;
}

thread_local Context current = nullptr;
thread_local CaptureMode capture_mode = kCaptureGlobal;
const bool idle = number("FAKE_CUDA_IDLE", 0) != 0;

enum class Needs { nothing, init, context };

// Counts the call; what it must give before it does anything.
Result enter(const char* function, Needs needs) {
  State& s = state();
  if (s.shut_down) {
    std::fprintf(stderr, "fake driver: %s was called after the driver's exit handlers\n", function);
    std::_Exit(9);
  }
  ++s.calls[function];
  if (const auto failure = s.failures.find(function); failure != s.failures.end()) {
    if (failure->second.skip == 0) return failure->second.code;
    --failure->second.skip;
  }
  if (needs != Needs::nothing && !s.initialised) return kNotInitialized;
  return needs == Needs::context && !current ? kInvalidContext : kSuccess;
}

// A call's lock and its first answer.
struct Call {
  std::lock_guard<std::mutex> lock;
  State& s = state();
  const Result early;
  Call(const char* function, Needs needs) : lock(state().mutex), early(enter(function, needs)) {}
};

// Calls that no graph holds end captures, all of which are in the mode kCaptureGlobal here, but for a thread
// that asked for leave.
Result unsafe_while_capturing(State& s) {
  if (capture_mode == kCaptureRelaxed) return kSuccess;
  Result result = kSuccess;
  for (StreamHandle stream : s.streams)
    if (stream->capture != kCaptureNone) {
      stream->capture = kCaptureInvalidated;
      result = kStreamCaptureUnsupported;
    }
  return result;
}

bool is_default(StreamHandle stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 2;  // of the context, the legacy one, the thread's one
}

// Of work for the default stream, for which a stream that is captured would have to wait.
Result use_default(State& s, StreamHandle stream) {
  if (!is_default(stream)) return kSuccess;
  ++s.default_stream_uses;
  for (StreamHandle other : s.streams)
    if (other->blocking && other->capture != kCaptureNone) {
      other->capture = kCaptureInvalidated;
      return kStreamCaptureImplicit;
    }
  return kSuccess;
}

bool knows_stream(const State& s, StreamHandle stream) {
  return is_default(stream) || (s.streams.count(stream) && stream->context == current);
}

// Whether [pointer, pointer + bytes) begins in the driver's memory; `inside` then tells if it ends there too.
const Block* find_block(const State& s, DevicePointer pointer, size_t bytes, bool* inside) {
  auto next = s.blocks.upper_bound(pointer);
  if (next == s.blocks.begin()) return nullptr;
  --next;
  if (pointer >= next->first + next->second.bytes) return nullptr;
  *inside = pointer + bytes <= next->first + next->second.bytes;
  return &next->second;
}

// The sizes of the parameters of PTX's ".entry name(...)"; empty `found` where there is no such entry.
std::vector<int> parameters_of(const std::string& ptx, const std::string& entry, bool* found) {
  std::vector<int> sizes;
  const size_t start = ptx.find(".entry " + entry + "(");
  *found = start != std::string::npos;
  if (!*found) return sizes;
  const size_t end = ptx.find(')', start);
  for (size_t at = ptx.find(".param ", start); at < end; at = ptx.find(".param ", at + 1)) {
    int bits = 0;
    const size_t type = ptx.find(" .", at + 6);  // ".param .u64 .ptr ..."
    std::sscanf(ptx.c_str() + (type == std::string::npos ? at : type) + 3, "%d", &bits);
    sizes.push_back(bits / 8);
  }
  return sizes;
}

// The same of a cubin made by ptxas, an ELF file whose section .nv.info.<entry> holds attributes: a format
// and a name of one byte each, then 2 bytes that are the value, or, in format 4, how many bytes of it follow.
// Heddle's parameters have 8 bytes each.
std::vector<int> parameters_of(const char* cubin, const std::string& entry, bool* found) {
  constexpr int kParameterBytes = 0x19, kSized = 4;
  const auto read = [&](const char* at, auto& value) { std::memcpy(&value, at, sizeof value); };
  Elf64_Ehdr header;
  read(cubin, header);
  const auto section = [&](int index) {
    Elf64_Shdr row;
    read(cubin + header.e_shoff + size_t(index) * sizeof row, row);
    return row;
  };
  const char* names = cubin + section(header.e_shstrndx).sh_offset;
  *found = false;
  for (int i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr row = section(i);
    if (names + row.sh_name != ".nv.info." + entry) continue;
    *found = true;
    for (const char *at = cubin + row.sh_offset, *end = at + row.sh_size; at < end;) {
      uint16_t value = 0;
      read(at + 2, value);
      if (at[1] == kParameterBytes) return std::vector<int>(value / 8, 8);
      at += at[0] == kSized ? 4 + value : 4;
    }
  }
  return {};
}

struct Text {
  int code;
  const char *name, *text;
};
constexpr Text kTexts[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kDeinitialized, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {kStubLibrary, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {kInvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {kJitCompilerNotFound, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {kUnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {kJitCompilationDisabled, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled"},
    {kInvalidSource, "CUDA_ERROR_INVALID_SOURCE", "device kernel image is invalid"},
    {kSharedObjectSymbolNotFound, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND",
     "shared object symbol not found"},
    {kSharedObjectInitFailed, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object initialization failed"},
    {kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {kStreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {kStreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {kStreamCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

}  // namespace

// So that a definition below which is not what the table says does not compile.
#define HEDDLE_ROW(name, symbol, parameters) FAKE_CUDA_EXPORT Result symbol parameters;
HEDDLE_CUDA_FUNCTIONS(HEDDLE_ROW)
#undef HEDDLE_ROW

Result cuInit(unsigned flags) {
  const Call call("cuInit", Needs::nothing);
  if (call.early != kSuccess) return call.early;
  if (flags != 0) return kInvalidValue;
  if (const int code = number("FAKE_CUDA_INIT", 0)) return Result(code);
  if (call.s.devices == 0) return kNoDevice;
  for (int i = 0; i < call.s.devices; ++i) call.s.primary[i].device = i;
  if (!std::exchange(call.s.initialised, true)) std::atexit([] { state().shut_down = true; });
  return kSuccess;
}

Result cuDriverGetVersion(int* version) {
  const Call call("cuDriverGetVersion", Needs::nothing);
  if (call.early != kSuccess) return call.early;
  *version = number("FAKE_CUDA_VERSION", 12000);
  return kSuccess;
}

Result cuGetErrorName(Result error, const char** name) {
  for (const Text& text : kTexts)
    if (text.code == error) return *name = text.name, kSuccess;
  return *name = nullptr, kInvalidValue;
}

Result cuGetErrorString(Result error, const char** string) {
  for (const Text& text : kTexts)
    if (text.code == error) return *string = text.text, kSuccess;
  return *string = nullptr, kInvalidValue;
}

Result cuDeviceGetCount(int* count) {
  const Call call("cuDeviceGetCount", Needs::init);
  if (call.early != kSuccess) return call.early;
  *count = call.s.devices;
  return kSuccess;
}

Result cuDeviceGet(Device* device, int ordinal) {
  const Call call("cuDeviceGet", Needs::init);
  if (call.early != kSuccess) return call.early;
  if (ordinal < 0 || ordinal >= call.s.devices) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

Result cuDeviceGetName(char* name, int length, Device device) {
  const Call call("cuDeviceGetName", Needs::init);
  if (call.early != kSuccess) return call.early;
  std::snprintf(name, size_t(length), "Fake GPU %d", device);
  return kSuccess;
}

Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device device) {
  const Call call("cuDeviceGetAttribute", Needs::init);
  if (call.early != kSuccess) return call.early;
  if (device < 0 || device >= call.s.devices) return kInvalidDevice;
  const int sm = number("FAKE_CUDA_SM", 90);
  switch (attribute) {
    case kMultiprocessorCount: *value = kMultiprocessors; return kSuccess;
    case kComputeCapabilityMajor: *value = sm / 10; return kSuccess;
    case kComputeCapabilityMinor: *value = sm % 10; return kSuccess;
    case kSharedMemoryPerBlockOptin: *value = kSharedBytes; return kSuccess;
    case kPageableMemoryAccess: *value = number("FAKE_CUDA_PAGEABLE", 0); return kSuccess;
  }
  return kInvalidValue;
}

Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  const Call call("cuDevicePrimaryCtxRetain", Needs::init);
  if (call.early != kSuccess) return call.early;
  if (device < 0 || device >= call.s.devices) return kInvalidDevice;
  *context = &call.s.primary[device];
  return kSuccess;
}

Result cuCtxGetCurrent(Context* context) {
  if (idle) return *context = current, kSuccess;
  const Call call("cuCtxGetCurrent", Needs::init);
  if (call.early != kSuccess) return call.early;
  *context = current;
  return kSuccess;
}

Result cuCtxSetCurrent(Context context) {
  if (idle) return current = context, kSuccess;
  const Call call("cuCtxSetCurrent", Needs::init);
  if (call.early != kSuccess) return call.early;
  current = context;
  return kSuccess;
}

// An image is PTX's text, or a cubin of this driver's, which says how long it is, or of ptxas's.
Result cuModuleLoadData(Module* module, const void* image) {
  const Call call("cuModuleLoadData", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (const Result result = unsafe_while_capturing(call.s)) return result;
  const char* bytes = static_cast<const char*>(image);
  if (std::strncmp(bytes, ".version", 8) == 0) {
    *module = new ModuleObject{.context = current, .ptx = bytes, .functions = {}};
    call.s.modules.insert(*module);
    return kSuccess;
  }
  if (std::strncmp(bytes, ELFMAG, SELFMAG) != 0) return kInvalidImage;
  if (std::strncmp(bytes, kMagic.c_str(), kMagic.size()) != 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes, sizeof header);
    if (header.e_machine != EM_CUDA) return kInvalidImage;
    const size_t end = std::max(header.e_shoff + size_t(header.e_shnum) * header.e_shentsize,
                                header.e_phoff + size_t(header.e_phnum) * header.e_phentsize);
    *module = new ModuleObject{.context = current, .cubin = {bytes, end}, .functions = {}};
    call.s.modules.insert(*module);
    return kSuccess;
  }
  uint64_t size = 0;
  std::memcpy(&size, bytes + kMagic.size(), sizeof size);
  *module = new ModuleObject{
      .context = current, .ptx = {bytes + kMagic.size() + sizeof size, size}, .functions = {}};
  call.s.modules.insert(*module);
  return kSuccess;
}

Result cuModuleUnload(Module module) {
  const Call call("cuModuleUnload", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!call.s.modules.erase(module)) return kInvalidHandle;
  delete module;
  return kSuccess;
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  const Call call("cuModuleGetFunction", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!call.s.modules.count(module)) return kInvalidHandle;
  bool found = false;
  std::vector<int> sizes = module->cubin.empty() ? parameters_of(module->ptx, name, &found)
                                                 : parameters_of(module->cubin.data(), name, &found);
  if (!found) return kNotFound;
  std::unique_ptr<FunctionObject>& slot = module->functions[name];
  if (!slot)
    slot.reset(new FunctionObject{.module = module, .entry = name, .parameter_bytes = std::move(sizes)});
  *function = slot.get();
  return kSuccess;
}

Result cuFuncGetAttribute(int* value, FunctionAttribute attribute, Function) {
  const Call call("cuFuncGetAttribute", Needs::context);
  if (call.early != kSuccess) return call.early;
  switch (attribute) {
    case kLocalSizeBytes: *value = kLocalBytes; return kSuccess;
    case kNumRegs: *value = kRegisters; return kSuccess;
    default: return kInvalidValue;
  }
}

Result cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  const Call call("cuFuncSetAttribute", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (attribute != kMaxDynamicSharedSizeBytes || value < 0 || value > kSharedBytes) return kInvalidValue;
  function->dynamic_shared_bytes = value;
  return kSuccess;
}

Result cuLinkCreate_v2(unsigned count, JitOption* options, void** values, Link* link) {
  const Call call("cuLinkCreate_v2", Needs::context);
  if (call.early != kSuccess) return call.early;
  *link = new LinkObject{.context = current, .ptx = {}, .cubin = {}};
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kJitErrorLogBuffer) (*link)->log = static_cast<char*>(values[i]);
    if (options[i] == kJitErrorLogBufferSizeBytes) (*link)->log_bytes = reinterpret_cast<size_t>(values[i]);
    if (options[i] == kJitInfoLogBuffer) (*link)->info = static_cast<char*>(values[i]);
    if (options[i] == kJitInfoLogBufferSizeBytes) (*link)->info_bytes = reinterpret_cast<size_t>(values[i]);
    if (options[i] == kJitLogVerbose) (*link)->verbose = values[i];
  }
  call.s.links.insert(*link);
  return kSuccess;
}

Result cuLinkAddData_v2(Link link, JitInputType type, void* data, size_t size, const char*, unsigned,
                        JitOption*, void**) {
  const Call call("cuLinkAddData_v2", Needs::context);
  if (call.early != kSuccess) {
    if (link->log) std::snprintf(link->log, link->log_bytes, "%s", call.s.log.c_str());
    return call.early;
  }
  if (!call.s.links.count(link) || link->context != current) return kInvalidHandle;
  const char* text = static_cast<const char*>(data);
  // PTX is text, its size counts the zero at its end.
  if (type != kJitInputPtx || size == 0 || text[size - 1] != '\0' || std::strlen(text) + 1 != size)
    return kInvalidPtx;
  link->ptx.append(text);
  return kSuccess;
}

Result cuLinkComplete(Link link, void** cubin, size_t* bytes) {
  const Call call("cuLinkComplete", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!call.s.links.count(link) || link->context != current) return kInvalidHandle;
  const uint64_t size = link->ptx.size();
  link->cubin = kMagic;
  link->cubin.append(reinterpret_cast<const char*>(&size), sizeof size);
  link->cubin += link->ptx;
  if (link->info && link->verbose) std::snprintf(link->info, link->info_bytes, "%s", call.s.info.c_str());
  *cubin = link->cubin.data();
  *bytes = link->cubin.size();
  return kSuccess;
}

Result cuLinkDestroy(Link link) {
  const Call call("cuLinkDestroy", Needs::nothing);
  if (call.early != kSuccess) return call.early;
  if (!call.s.links.erase(link)) return kInvalidHandle;
  delete link;
  return kSuccess;
}

Result cuMemAlloc_v2(DevicePointer* pointer, size_t bytes) {
  const Call call("cuMemAlloc_v2", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (bytes == 0) return kInvalidValue;
  if (const Result result = unsafe_while_capturing(call.s)) return result;
  size_t used = 0;
  for (const auto& [address, block] : call.s.blocks)
    if (block.device == current->device) used += block.bytes;
  if (bytes > kMemoryBytes - used) return kOutOfMemory;
  // As with a GPU, no 2 MiB hold memory of two devices, or of the host as well.
  constexpr size_t kPiece = size_t(2) << 20;
  void* memory = std::aligned_alloc(kPiece, (bytes + kPiece - 1) / kPiece * kPiece);
  if (!memory) return kOutOfMemory;
  std::memset(memory, 0xA5, bytes);  // a GPU's memory holds what was there before
  *pointer = reinterpret_cast<DevicePointer>(memory);
  call.s.blocks[*pointer] = {.device = current->device, .bytes = bytes};
  return kSuccess;
}

Result cuMemGetInfo_v2(size_t* free, size_t* total) {
  const Call call("cuMemGetInfo_v2", Needs::context);
  if (call.early != kSuccess) return call.early;
  *free = *total = kMemoryBytes;
  for (const auto& [address, block] : call.s.blocks)
    if (block.device == current->device) *free -= block.bytes;
  return kSuccess;
}

Result cuMemFree_v2(DevicePointer pointer) {
  const Call call("cuMemFree_v2", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (const Result result = unsafe_while_capturing(call.s)) return result;
  if (!call.s.blocks.erase(pointer)) return kInvalidValue;
  std::free(reinterpret_cast<void*>(pointer));
  return kSuccess;
}

Result cuMemsetD8Async(DevicePointer pointer, unsigned char value, size_t count, StreamHandle stream) {
  const Call call("cuMemsetD8Async", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!knows_stream(call.s, stream)) return kInvalidHandle;
  if (const Result result = use_default(call.s, stream)) return result;
  bool inside = false;
  if (!find_block(call.s, pointer, count, &inside) || !inside) return kInvalidValue;
  std::memset(reinterpret_cast<void*>(pointer), value, count);
  return kSuccess;
}

Result cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream) {
  const Call call("cuMemcpyAsync", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!knows_stream(call.s, stream)) return kInvalidHandle;
  if (const Result result = use_default(call.s, stream)) return result;
  for (const DevicePointer end : {to, from}) {
    bool inside = true;
    if (find_block(call.s, end, bytes, &inside) && !inside) return kInvalidValue;
  }
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

Result cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePointer pointer) {
  const Call call("cuPointerGetAttribute", Needs::init);
  if (call.early != kSuccess) return call.early;
  bool inside = false;
  const Block* block = find_block(call.s, pointer, 1, &inside);
  if (!block) return kInvalidValue;
  const auto give = [&](auto number) { std::memcpy(value, &number, sizeof number); };
  switch (attribute) {
    case kPointerMemoryType: give(block->device < 0 ? kMemoryTypeHost : kMemoryTypeDevice); return kSuccess;
    case kPointerDeviceOrdinal: give(std::max(0, block->device)); return kSuccess;
    case kPointerRangeStart: give(std::prev(call.s.blocks.upper_bound(pointer))->first); return kSuccess;
    case kPointerRangeSize: give(uint64_t(block->bytes)); return kSuccess;
    case kPointerAccessFlags:
      if (!current) return kInvalidContext;
      give(block->device < 0 || block->device == current->device || call.s.peers ? kAccessReadWrite
                                                                                 : kAccessNone);
      return kSuccess;
  }
  return kInvalidValue;
}

Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  const Call call("cuStreamCreate", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (flags > kStreamNonBlocking) return kInvalidValue;
  *stream = new StreamObject{.context = current, .blocking = flags != kStreamNonBlocking};
  call.s.streams.insert(*stream);
  return kSuccess;
}

Result cuStreamDestroy_v2(StreamHandle stream) {
  const Call call("cuStreamDestroy_v2", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!call.s.streams.erase(stream)) return kInvalidHandle;
  delete stream;
  return kSuccess;
}

Result cuStreamSynchronize(StreamHandle stream) {
  const Call call("cuStreamSynchronize", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!knows_stream(call.s, stream)) return kInvalidHandle;
  if (const Result result = use_default(call.s, stream)) return result;
  if (is_default(stream) || stream->capture == kCaptureNone) return kSuccess;
  stream->capture = kCaptureInvalidated;
  return kStreamCaptureUnsupported;
}

Result cuStreamIsCapturing(StreamHandle stream, CaptureStatus* status) {
  const Call call("cuStreamIsCapturing", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (!knows_stream(call.s, stream)) return kInvalidHandle;
  if (!is_default(stream)) return *status = stream->capture, kSuccess;
  for (StreamHandle other : call.s.streams)
    if (other->blocking && other->capture != kCaptureNone) return kStreamCaptureImplicit;
  return *status = kCaptureNone, kSuccess;
}

Result cuThreadExchangeStreamCaptureMode(CaptureMode* mode) {
  const Call call("cuThreadExchangeStreamCaptureMode", Needs::nothing);
  if (call.early != kSuccess) return call.early;
  std::swap(*mode, capture_mode);
  return kSuccess;
}

Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,
                      void** parameters, void** extra) {
  if (idle) return kSuccess;
  const Call call("cuLaunchKernel", Needs::context);
  if (call.early != kSuccess) return call.early;
  if (function->module->context != current || !knows_stream(call.s, stream)) return kInvalidHandle;
  const auto within = [](unsigned value, unsigned most) { return value >= 1 && value <= most; };
  if (!within(grid_x, INT32_MAX) || !within(grid_y, 65535) || !within(grid_z, 65535) ||
      !within(block_x, 1024) || !within(block_y, 1024) || !within(block_z, 64) ||
      block_x * block_y * block_z > 1024 || int(shared_bytes) > function->dynamic_shared_bytes || extra)
    return kInvalidValue;
  if (const Result result = use_default(call.s, stream)) return result;
  if (!is_default(stream) && stream->capture == kCaptureInvalidated) return kStreamCaptureInvalidated;
  FakeLaunch launch = {};
  std::snprintf(launch.entry, sizeof launch.entry, "%s", function->entry.c_str());
  launch.device = current->device;
  std::copy_n(std::begin({grid_x, grid_y, grid_z}), 3, launch.grid);
  std::copy_n(std::begin({block_x, block_y, block_z}), 3, launch.block);
  launch.shared_bytes = shared_bytes;
  launch.stream = stream;
  launch.captured = !is_default(stream) && stream->capture != kCaptureNone;
  launch.parameter_count = int(function->parameter_bytes.size());
  if (launch.parameter_count > FakeLaunch::kMaxParameters) return kInvalidValue;
  for (int i = 0; i < launch.parameter_count; ++i)
    std::memcpy(&launch.parameters[i], parameters[i], size_t(function->parameter_bytes[size_t(i)]));
  call.s.launches.push_back(launch);
  return kSuccess;
}

}  // namespace heddle::runtime::cuda

using namespace heddle::runtime::cuda;

#define FAKE_CUDA_DECLARE(result, name, parameters) FAKE_CUDA_EXPORT result fake_cuda_##name parameters;
FAKE_CUDA_CONTROLS(FAKE_CUDA_DECLARE)
#undef FAKE_CUDA_DECLARE

void fake_cuda_fail(const char* function, int code, int skip) {
  std::lock_guard lock(state().mutex);
  state().failures[function] = {Result(code), skip};
}

void fake_cuda_clear() {
  std::lock_guard lock(state().mutex);
  state().failures.clear();
  state().calls.clear();
  state().launches.clear();
  state().log.clear();
  state().info.clear();
  state().default_stream_uses = 0;
  state().peers = false;
}

int fake_cuda_calls(const char* function) {
  std::lock_guard lock(state().mutex);
  if (function) return state().calls[function];
  int sum = 0;
  for (const auto& [name, count] : state().calls)
    if (name != "cuCtxGetCurrent" && name != "cuCtxSetCurrent") sum += count;
  return sum;
}

int fake_cuda_launches() {
  std::lock_guard lock(state().mutex);
  return int(state().launches.size());
}

bool fake_cuda_launch(int index, FakeLaunch* launch) {
  std::lock_guard lock(state().mutex);
  if (index < 0 || size_t(index) >= state().launches.size()) return false;
  *launch = state().launches[size_t(index)];
  return true;
}

void fake_cuda_objects(FakeObjects* objects) {
  std::lock_guard lock(state().mutex);
  *objects = {.streams = int(state().streams.size()),
              .modules = int(state().modules.size()),
              .links = int(state().links.size()),
              .blocks = int(std::count_if(state().blocks.begin(), state().blocks.end(),
                                          [](const auto& row) { return row.second.device >= 0; }))};
}

int fake_cuda_memory_device(const void* memory) {
  std::lock_guard lock(state().mutex);
  bool inside = false;
  const Block* block = find_block(state(), reinterpret_cast<DevicePointer>(memory), 1, &inside);
  return block ? block->device : -1;
}

void* fake_cuda_current() {
  return current;
}

void fake_cuda_make_current(int device) {
  current = device < 0 ? nullptr : &state().primary[device];
}

void* fake_cuda_make_stream(int device) {
  std::lock_guard lock(state().mutex);
  return *state()
              .streams.insert(new StreamObject{.context = &state().primary[device], .blocking = true})
              .first;
}

void fake_cuda_begin_capture(void* stream) {
  std::lock_guard lock(state().mutex);
  static_cast<StreamHandle>(stream)->capture = kCaptureActive;
}

bool fake_cuda_end_capture(void* stream) {
  std::lock_guard lock(state().mutex);
  return std::exchange(static_cast<StreamHandle>(stream)->capture, kCaptureNone) == kCaptureActive;
}

int fake_cuda_default_stream_uses() {
  std::lock_guard lock(state().mutex);
  return state().default_stream_uses;
}

void fake_cuda_register_host(void* memory, int64_t bytes) {
  std::lock_guard lock(state().mutex);
  state().blocks[reinterpret_cast<DevicePointer>(memory)] = {.device = -1, .bytes = size_t(bytes)};
}

void fake_cuda_enable_peers() {
  std::lock_guard lock(state().mutex);
  state().peers = true;
}

void fake_cuda_set_log(const char* text) {
  std::lock_guard lock(state().mutex);
  state().log = text;
}

void fake_cuda_set_info(const char* text) {
  std::lock_guard lock(state().mutex);
  state().info = text;
}
