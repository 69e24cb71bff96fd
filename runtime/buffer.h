// Buffer: typed memory on a device, owned. Public; light.
#pragma once

#include <cstdint>

#include "codegen/ir/dtype.h"
#include "runtime/stream.h"
#include "runtime/tensor.h"

namespace heddle {

namespace runtime {
// `bytes` of zeroed memory, 64-byte aligned; null for 0 bytes. Throws Error (launch) with the number when
// there is none.
HEDDLE_API void* allocate(Device device, int64_t count, int64_t element_bytes, Location where);
HEDDLE_API void release(Device device, void* memory) noexcept;
// Between host memory and a buffer of `device`; waits for the stream's launches. Throws Error (launch) for
// null memory, and for a GPU's buffer where the stream is of no GPU.
HEDDLE_API void copy_bytes(Stream& stream, Device device, void* to, const void* from, int64_t bytes,
                           Location where);
// Throws Error (launch) for a negative extent, and for more elements than `count`.
HEDDLE_API void check_view(const int64_t* extents, int rank, int64_t count, Location where);
}  // namespace runtime

// `count` elements, zeroed. Move-only.
template <class T>
class Buffer {
  static_assert(requires { DTypeOf<T>::value; }, "Buffer<T>: T is one of Heddle's element types");

 public:
  Buffer() = default;
  Buffer(Device device, int64_t count, Location where = std::source_location::current())
      : device_(device),
        data_(static_cast<T*>(runtime::allocate(device, count, sizeof(T), where))),
        count_(count) {}
  Buffer(Buffer&& other) noexcept : device_(other.device_), data_(other.data_), count_(other.count_) {
    other.data_ = nullptr;
    other.count_ = 0;
  }
  Buffer& operator=(Buffer&& other) noexcept {
    if (this != &other) {
      runtime::release(device_, data_);
      device_ = other.device_, data_ = other.data_, count_ = other.count_;
      other.data_ = nullptr, other.count_ = 0;
    }
    return *this;
  }
  ~Buffer() { runtime::release(device_, data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return count_; }
  Device device() const { return device_; }

  // All size() elements from or to host memory; waits for the stream's launches.
  void upload(Stream& stream, const T* from, Location where = std::source_location::current()) {
    runtime::copy_bytes(stream, device_, data_, from, count_ * int64_t(sizeof(T)), where);
  }
  void download(Stream& stream, T* to, Location where = std::source_location::current()) const {
    runtime::copy_bytes(stream, device_, to, data_, count_ * int64_t(sizeof(T)), where);
  }

  // Row-major views from the start of the buffer; Error if they need more elements than there are.
  TensorRef<T, 1> view(int64_t n, Location where = std::source_location::current()) {
    check({n}, where);
    return {data_, {n}};
  }
  TensorRef<T, 2> view(int64_t rows, int64_t columns, Location where = std::source_location::current()) {
    check({rows, columns}, where);
    return {data_, {rows, columns}};
  }
  TensorRef<T, 3> view(int64_t batch, int64_t rows, int64_t columns,
                       Location where = std::source_location::current()) {
    check({batch, rows, columns}, where);
    return {data_, {batch, rows, columns}};
  }

 private:
  template <int R>
  void check(const int64_t (&extents)[R], Location where) const {
    runtime::check_view(extents, R, count_, where);
  }

  Device device_ = Device::cpu();
  T* data_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace heddle
