// Memory behind Buffer.
#include "runtime/buffer.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

#include "codegen/ir/fail.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/reach.h"

namespace heddle::runtime {

namespace {
constexpr std::align_val_t kAlignment{64};

void* allocate_on_gpu(Device device, int64_t bytes, Location where) {
  const cuda::DeviceInfo& info = cuda::device_info(device.ordinal(), where);
  const cuda::Api& api = cuda::driver(where);
  const cuda::ContextScope scope(info, where);
  const cuda::RelaxedCapture relaxed(api);
  cuda::DevicePointer pointer = 0;
  cuda::Result result = api.memory_allocate(&pointer, size_t(bytes));
  size_t free = 0, total = 0;
  if (result == cuda::kOutOfMemory && api.memory_info(&free, &total) == cuda::kSuccess)
    fail(ErrorKind::launch, where,
         "{} has no memory for a buffer of {} bytes: {} of its {} bytes are free; free some, or take a "
         "smaller problem",
         info.name, bytes, free, total);
  const std::string doing = fmt::format("allocating {} bytes on {}", bytes, info.name);
  cuda::check(result, where, doing.c_str());
  result = api.memory_set(pointer, 0, size_t(bytes), info.zeroing);
  // Of that stream alone: whatever streams use the buffer, they find zeros, and none was held up.
  if (result == cuda::kSuccess) result = api.stream_synchronize(info.zeroing);
  if (result != cuda::kSuccess) api.memory_free(pointer);
  cuda::check(result, where, doing.c_str());
  return reinterpret_cast<void*>(pointer);
}
}  // namespace

void* allocate(Device device, int64_t count, int64_t element_bytes, Location where) {
  int64_t bytes = 0;
  if (count < 0)
    fail(ErrorKind::launch, where, "a buffer of {} elements was asked for; the number can't be negative",
         count);
  if (__builtin_mul_overflow(count, element_bytes, &bytes))
    fail(ErrorKind::launch, where, "a buffer of {} elements of {} bytes does not fit in memory", count,
         element_bytes);
  if (bytes == 0) return nullptr;
  if (device.kind() == Device::Kind::cuda) return allocate_on_gpu(device, bytes, where);
  void* memory = ::operator new(size_t(bytes), kAlignment, std::nothrow);
  if (!memory) fail(ErrorKind::launch, where, "no memory for a buffer of {} bytes", bytes);
  std::memset(memory, 0, size_t(bytes));
  return memory;
}

void release(Device device, void* memory) noexcept {
  if (!memory) return;
  if (device.kind() != Device::Kind::cuda) return ::operator delete(memory, kAlignment);
  // A failure here is one that the next call meets too.
  if (const cuda::Api* api = cuda::find_driver()) try {
      const cuda::ContextScope scope(cuda::device_info(device.ordinal(), {}), {});
      const cuda::RelaxedCapture relaxed(*api);
      cuda::forget_reach();
      api->memory_free(reinterpret_cast<cuda::DevicePointer>(memory));
    } catch (...) {
    }
}

void copy_bytes(Stream& stream, Device device, void* to, const void* from, int64_t bytes, Location where) {
  if (bytes <= 0) return;
  if (!to || !from)
    fail(ErrorKind::launch, where, "{} bytes are to be copied, but the host's memory is null", bytes);
  if (stream.device().kind() != Device::Kind::cuda) {
    if (device.kind() == Device::Kind::cuda)
      fail(ErrorKind::launch, where,
           "a buffer of {} can't be copied through a stream of {}; take a stream of that GPU",
           device.name(where), stream.device().name(where));
    std::memcpy(to, from, size_t(bytes));
    return;
  }
  {
    const cuda::ContextScope scope(cuda::device_info(stream.device().ordinal(), where), where);
    cuda::refuse_capture(static_cast<cuda::StreamHandle>(stream.native()), where,
                         "upload and download wait for the stream");
    cuda::check(cuda::driver(where).memory_copy(reinterpret_cast<cuda::DevicePointer>(to),
                                                reinterpret_cast<cuda::DevicePointer>(from), size_t(bytes),
                                                static_cast<cuda::StreamHandle>(stream.native())),
                where, "copying memory");
  }
  stream.synchronize(where);
}

void check_view(const int64_t* extents, int rank, int64_t count, Location where) {
  const std::span<const int64_t> all(extents, size_t(rank));
  int64_t needed = 1;
  bool overflow = false;
  for (const int64_t extent : all) {
    if (extent < 0) fail(ErrorKind::launch, where, "a view can't have the negative extent {}", extent);
    overflow |= __builtin_mul_overflow(needed, extent, &needed);
  }
  if (overflow || needed > count)
    fail(ErrorKind::launch, where, "a view of {} elements is larger than the buffer, which holds {}",
         fmt::join(all, " x "), count);
}

}  // namespace heddle::runtime
