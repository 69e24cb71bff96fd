// The CUDA driver API as far as Heddle uses it, declared anew so that building needs no toolkit. Names
// without their prefix; values and signatures are those of cuda.h 12.0, and a test compares them where that
// header is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::runtime::cuda {

enum Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kInvalidPtx = 218,
  kJitCompilerNotFound = 221,
  kUnsupportedPtxVersion = 222,
  kJitCompilationDisabled = 223,
  kInvalidSource = 300,
  kSharedObjectSymbolNotFound = 302,
  kSharedObjectInitFailed = 303,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kSystemDriverMismatch = 803,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureImplicit = 906,
};

enum DeviceAttribute : int {
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kPageableMemoryAccess = 88,
  kSharedMemoryPerBlockOptin = 97,
};

enum FunctionAttribute : int { kLocalSizeBytes = 3, kNumRegs = 4, kMaxDynamicSharedSizeBytes = 8 };
enum PointerAttribute : int {
  kPointerMemoryType = 2,
  kPointerDeviceOrdinal = 9,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
  kPointerAccessFlags = 16,
};
enum PointerAccess : int { kAccessNone = 0, kAccessRead = 1, kAccessReadWrite = 3 };
enum MemoryType : int { kMemoryTypeHost = 1, kMemoryTypeDevice = 2, kMemoryTypeUnified = 4 };
enum JitOption : int {
  kJitInfoLogBuffer = 3,
  kJitInfoLogBufferSizeBytes = 4,
  kJitErrorLogBuffer = 5,
  kJitErrorLogBufferSizeBytes = 6,
  kJitTarget = 9,
  kJitLogVerbose = 12,
};
enum JitInputType : int { kJitInputPtx = 1 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

using Device = int;
using DevicePointer = unsigned long long;
using Context = struct ContextObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using StreamHandle = struct StreamObject*;
using Link = struct LinkObject*;

inline constexpr unsigned kStreamNonBlocking = 1;

// HEDDLE_CUDA(name, symbol, parameters): each returns a Result.
#define HEDDLE_CUDA_FUNCTIONS(HEDDLE_CUDA)                                                                   \
  HEDDLE_CUDA(init, cuInit, (unsigned flags))                                                                \
  HEDDLE_CUDA(driver_version, cuDriverGetVersion, (int* version))                                            \
  HEDDLE_CUDA(error_name, cuGetErrorName, (Result error, const char** name))                                 \
  HEDDLE_CUDA(error_string, cuGetErrorString, (Result error, const char** text))                             \
  HEDDLE_CUDA(device_count, cuDeviceGetCount, (int* count))                                                  \
  HEDDLE_CUDA(device_get, cuDeviceGet, (Device * device, int ordinal))                                       \
  HEDDLE_CUDA(device_name, cuDeviceGetName, (char* name, int length, Device device))                         \
  HEDDLE_CUDA(device_attribute, cuDeviceGetAttribute,                                                        \
              (int* value, DeviceAttribute attribute, Device device))                                        \
  HEDDLE_CUDA(primary_context_retain, cuDevicePrimaryCtxRetain, (Context * context, Device device))          \
  HEDDLE_CUDA(context_get_current, cuCtxGetCurrent, (Context * context))                                     \
  HEDDLE_CUDA(context_set_current, cuCtxSetCurrent, (Context context))                                       \
  HEDDLE_CUDA(module_load_data, cuModuleLoadData, (Module * module, const void* image))                      \
  HEDDLE_CUDA(module_unload, cuModuleUnload, (Module module))                                                \
  HEDDLE_CUDA(module_function, cuModuleGetFunction, (Function * function, Module module, const char* name))  \
  HEDDLE_CUDA(function_get, cuFuncGetAttribute,                                                              \
              (int* value, FunctionAttribute attribute, Function function))                                  \
  HEDDLE_CUDA(function_set, cuFuncSetAttribute, (Function function, FunctionAttribute attribute, int value)) \
  HEDDLE_CUDA(link_create, cuLinkCreate_v2, (unsigned count, JitOption* options, void** values, Link* link)) \
  HEDDLE_CUDA(link_add, cuLinkAddData_v2,                                                                    \
              (Link link, JitInputType type, void* data, size_t size, const char* name, unsigned count,      \
               JitOption* options, void** values))                                                           \
  HEDDLE_CUDA(link_complete, cuLinkComplete, (Link link, void** cubin, size_t* size))                        \
  HEDDLE_CUDA(link_destroy, cuLinkDestroy, (Link link))                                                      \
  HEDDLE_CUDA(memory_allocate, cuMemAlloc_v2, (DevicePointer * pointer, size_t bytes))                       \
  HEDDLE_CUDA(memory_info, cuMemGetInfo_v2, (size_t* free, size_t* total))                                   \
  HEDDLE_CUDA(memory_free, cuMemFree_v2, (DevicePointer pointer))                                            \
  HEDDLE_CUDA(memory_set, cuMemsetD8Async,                                                                   \
              (DevicePointer pointer, unsigned char value, size_t count, StreamHandle stream))               \
  HEDDLE_CUDA(memory_copy, cuMemcpyAsync,                                                                    \
              (DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream))                     \
  HEDDLE_CUDA(pointer_attribute, cuPointerGetAttribute,                                                      \
              (void* value, PointerAttribute attribute, DevicePointer pointer))                              \
  HEDDLE_CUDA(stream_create, cuStreamCreate, (StreamHandle * stream, unsigned flags))                        \
  HEDDLE_CUDA(stream_destroy, cuStreamDestroy_v2, (StreamHandle stream))                                     \
  HEDDLE_CUDA(stream_synchronize, cuStreamSynchronize, (StreamHandle stream))                                \
  HEDDLE_CUDA(stream_is_capturing, cuStreamIsCapturing, (StreamHandle stream, CaptureStatus * status))       \
  HEDDLE_CUDA(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (CaptureMode * mode))                \
  HEDDLE_CUDA(launch_kernel, cuLaunchKernel,                                                                 \
              (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,       \
               unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,               \
               void** parameters, void** extra))

// The functions of libcuda.so.1.
struct Api {
#define HEDDLE_ROW(name, symbol, parameters) Result(*name) parameters = nullptr;
  HEDDLE_CUDA_FUNCTIONS(HEDDLE_ROW)
#undef HEDDLE_ROW
};

}  // namespace heddle::runtime::cuda
