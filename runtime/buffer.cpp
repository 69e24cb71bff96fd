// Memory behind Buffer.
#include "runtime/buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "codegen/ir/fail.h"

namespace heddle::runtime {

namespace {
constexpr std::align_val_t kAlignment{64};
}

void* allocate(Device, int64_t count, int64_t element_bytes, Location where) {
  int64_t bytes = 0;
  if (count < 0)
    fail(ErrorKind::launch, where, "a buffer of {} elements was asked for; the number can't be negative",
         count);
  if (__builtin_mul_overflow(count, element_bytes, &bytes))
    fail(ErrorKind::launch, where, "a buffer of {} elements of {} bytes does not fit in memory", count,
         element_bytes);
  if (bytes == 0) return nullptr;
  void* memory = ::operator new(size_t(bytes), kAlignment, std::nothrow);
  if (!memory) fail(ErrorKind::launch, where, "no memory for a buffer of {} bytes", bytes);
  std::memset(memory, 0, size_t(bytes));
  return memory;
}

void release(Device, void* memory) noexcept {
  ::operator delete(memory, kAlignment);
}

void copy_bytes(Stream& stream, void* to, const void* from, int64_t bytes) {
  stream.synchronize();
  if (bytes > 0) std::memcpy(to, from, size_t(bytes));
}

void check_view(const int64_t (&extents)[3], int64_t count, Location where) {
  int64_t needed = 1;
  bool overflow = false;
  for (int64_t extent : extents) {
    if (extent < 0) fail(ErrorKind::launch, where, "a view can't have the negative extent {}", extent);
    overflow |= __builtin_mul_overflow(needed, extent, &needed);
  }
  if (overflow || needed > count)
    fail(ErrorKind::launch, where,
         "the view {} x {} x {} needs more elements than the {} that the buffer holds", extents[0],
         extents[1], extents[2], count);
}

}  // namespace heddle::runtime
