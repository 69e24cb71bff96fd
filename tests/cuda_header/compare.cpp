// Heddle's own declarations of the CUDA driver against the toolkit's: a wrong one does not compile.
#include <cuda.h>

#include <cstdio>
#include <type_traits>

#include "runtime/cuda/api.h"

namespace {

namespace ours = heddle::runtime::cuda;

// Whether two types are passed alike: equal but for the names of enums and opaque structs.
template <class A, class B>
constexpr bool alike() {
  if constexpr (std::is_same_v<A, B>)
    return true;
  else if constexpr (std::is_const_v<A> != std::is_const_v<B>)
    return false;
  else if constexpr (std::is_const_v<A>)
    return alike<std::remove_const_t<A>, std::remove_const_t<B>>();
  else if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>)
    return alike<std::remove_pointer_t<A>, std::remove_pointer_t<B>>();
  else if constexpr (std::is_enum_v<A> && std::is_enum_v<B>)
    return sizeof(A) == sizeof(B);
  else
    return std::is_class_v<A> && std::is_class_v<B>;  // opaque
}

template <class A, class B>
constexpr bool kSameCall = false;
template <class R, class... P, class S, class... Q>
  requires(sizeof...(P) == sizeof...(Q))
constexpr bool kSameCall<R (*)(P...), S (*)(Q...)> = alike<R, S>() && (alike<P, Q>() && ...);

#define HEDDLE_ROW(name, symbol, parameters) \
  static_assert(kSameCall<decltype(ours::Api::name), decltype(&::symbol)>, #symbol);
HEDDLE_CUDA_FUNCTIONS(HEDDLE_ROW)
#undef HEDDLE_ROW

// The comparison tells wrong declarations from right ones.
static_assert(!kSameCall<int (*)(int), int (*)(int, int)>);
static_assert(!kSameCall<int (*)(int), int (*)(unsigned)>);
static_assert(!kSameCall<int (*)(int), int (*)(long)>);
static_assert(!kSameCall<int (*)(int*), int (*)(int)>);
static_assert(!kSameCall<int (*)(int*), int (*)(const int*)>);
static_assert(!kSameCall<int (*)(void**), int (*)(int**)>);
static_assert(!kSameCall<int (*)(ours::StreamHandle*), int (*)(CUstream)>);

#define HEDDLE_CONSTANT(mine, theirs) static_assert(long(ours::mine) == long(theirs), #theirs);
HEDDLE_CONSTANT(kSuccess, CUDA_SUCCESS)
HEDDLE_CONSTANT(kInvalidValue, CUDA_ERROR_INVALID_VALUE)
HEDDLE_CONSTANT(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
HEDDLE_CONSTANT(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED)
HEDDLE_CONSTANT(kDeinitialized, CUDA_ERROR_DEINITIALIZED)
HEDDLE_CONSTANT(kStubLibrary, CUDA_ERROR_STUB_LIBRARY)
HEDDLE_CONSTANT(kNoDevice, CUDA_ERROR_NO_DEVICE)
HEDDLE_CONSTANT(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE)
HEDDLE_CONSTANT(kInvalidImage, CUDA_ERROR_INVALID_IMAGE)
HEDDLE_CONSTANT(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT)
HEDDLE_CONSTANT(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU)
HEDDLE_CONSTANT(kInvalidPtx, CUDA_ERROR_INVALID_PTX)
HEDDLE_CONSTANT(kJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND)
HEDDLE_CONSTANT(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
HEDDLE_CONSTANT(kJitCompilationDisabled, CUDA_ERROR_JIT_COMPILATION_DISABLED)
HEDDLE_CONSTANT(kInvalidSource, CUDA_ERROR_INVALID_SOURCE)
HEDDLE_CONSTANT(kSharedObjectSymbolNotFound, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND)
HEDDLE_CONSTANT(kSharedObjectInitFailed, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED)
HEDDLE_CONSTANT(kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM)
HEDDLE_CONSTANT(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE)
HEDDLE_CONSTANT(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)
HEDDLE_CONSTANT(kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
HEDDLE_CONSTANT(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT)
HEDDLE_CONSTANT(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS)
HEDDLE_CONSTANT(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED)
HEDDLE_CONSTANT(kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
HEDDLE_CONSTANT(kStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
HEDDLE_CONSTANT(kStreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
HEDDLE_CONSTANT(kStreamCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
HEDDLE_CONSTANT(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
HEDDLE_CONSTANT(kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
HEDDLE_CONSTANT(kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
HEDDLE_CONSTANT(kPageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
HEDDLE_CONSTANT(kSharedMemoryPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
HEDDLE_CONSTANT(kLocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
HEDDLE_CONSTANT(kNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS)
HEDDLE_CONSTANT(kMaxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
HEDDLE_CONSTANT(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
HEDDLE_CONSTANT(kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
HEDDLE_CONSTANT(kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
HEDDLE_CONSTANT(kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE)
HEDDLE_CONSTANT(kPointerAccessFlags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS)
HEDDLE_CONSTANT(kAccessNone, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE)
HEDDLE_CONSTANT(kAccessRead, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ)
HEDDLE_CONSTANT(kAccessReadWrite, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE)
HEDDLE_CONSTANT(kMemoryTypeHost, CU_MEMORYTYPE_HOST)
HEDDLE_CONSTANT(kMemoryTypeDevice, CU_MEMORYTYPE_DEVICE)
HEDDLE_CONSTANT(kMemoryTypeUnified, CU_MEMORYTYPE_UNIFIED)
HEDDLE_CONSTANT(kJitInfoLogBuffer, CU_JIT_INFO_LOG_BUFFER)
HEDDLE_CONSTANT(kJitInfoLogBufferSizeBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
HEDDLE_CONSTANT(kJitLogVerbose, CU_JIT_LOG_VERBOSE)
HEDDLE_CONSTANT(kJitErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER)
HEDDLE_CONSTANT(kJitErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
HEDDLE_CONSTANT(kJitTarget, CU_JIT_TARGET)
HEDDLE_CONSTANT(kJitInputPtx, CU_JIT_INPUT_PTX)
HEDDLE_CONSTANT(kCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE)
HEDDLE_CONSTANT(kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE)
HEDDLE_CONSTANT(kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED)
HEDDLE_CONSTANT(kCaptureGlobal, CU_STREAM_CAPTURE_MODE_GLOBAL)
HEDDLE_CONSTANT(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
HEDDLE_CONSTANT(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED)
HEDDLE_CONSTANT(kStreamNonBlocking, CU_STREAM_NON_BLOCKING)
#undef HEDDLE_CONSTANT

}  // namespace

int main() {
  std::printf("compared with cuda.h of CUDA %d.%d\n", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
}
