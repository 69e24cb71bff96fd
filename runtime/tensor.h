// TensorRef: where a host program's array lies, as a view argument of a kernel. Public; light. Owns nothing
// and knows nothing of devices.
#pragma once

#include <cstdint>
#include <type_traits>

#include "codegen/ir/dtype.h"
#include "runtime/launch.h"

namespace heddle {

namespace detail {
// A count in elements, from any integer type, so that lists of sizes don't narrow.
struct Count {
  int64_t value;
  template <class I>
    requires std::is_integral_v<I>
  constexpr Count(I number) : value(int64_t(number)) {}
};
}  // namespace detail

// `R` extents and strides, in elements, over memory that somebody else owns. Strides may be of any sign, and
// zero.
template <class T, int R>
struct TensorRef {
  static_assert(
      requires { DTypeOf<std::remove_const_t<T>>::value; },
      "TensorRef<T, R>: T is one of Heddle's element types, const where kernels may only read it");
  static_assert(R >= 1 && R <= runtime::kMaxViewRank, "TensorRef<T, R>: the rank R is between 1 and 5");
  using Element = T;
  static constexpr int kRank = R;

  T* data = nullptr;
  int64_t extents[R] = {};
  int64_t strides[R] = {};

  constexpr TensorRef() = default;
  // Contiguous, last axis fastest: TensorRef<f32, 2>(pointer, {rows, columns}).
  constexpr TensorRef(T* data, const detail::Count (&sizes)[R]) : data(data) {
    uint64_t stride = 1;  // wraps; sizes that large are refused at launch
    for (int i = R - 1; i >= 0; --i) {
      extents[i] = sizes[i].value;
      strides[i] = int64_t(stride);
      stride *= sizes[i].value > 1 ? uint64_t(sizes[i].value) : 1;
    }
  }
  // With strides in elements: TensorRef<f32, 2>(pointer, {rows, columns}, {pitch, 1}).
  constexpr TensorRef(T* data, const detail::Count (&sizes)[R], const detail::Count (&steps)[R])
      : data(data) {
    for (int i = 0; i < R; ++i) extents[i] = sizes[i].value, strides[i] = steps[i].value;
  }
  // A mutable tensor serves where a read-only one is asked for.
  template <class U>
    requires(std::is_const_v<T> && std::is_same_v<const U, T>)
  constexpr TensorRef(const TensorRef<U, R>& other) : data(other.data) {
    for (int i = 0; i < R; ++i) extents[i] = other.extents[i], strides[i] = other.strides[i];
  }

  // The last two axes swapped.
  constexpr TensorRef transposed() const
    requires(R >= 2)
  {
    TensorRef result = *this;
    result.extents[R - 1] = extents[R - 2], result.extents[R - 2] = extents[R - 1];
    result.strides[R - 1] = strides[R - 2], result.strides[R - 2] = strides[R - 1];
    return result;
  }
  // `count` elements of one axis: first, first + step, ... `step` may be negative or zero.
  constexpr TensorRef slice(int axis, int64_t first, int64_t count, int64_t step = 1) const {
    TensorRef result = *this;
    result.data += first * strides[axis];
    result.extents[axis] = count;
    result.strides[axis] *= step;
    return result;
  }
  // The tensor of the remaining axes at index `i` of the first.
  constexpr TensorRef<T, (R > 1 ? R - 1 : 1)> operator[](int64_t i) const
    requires(R >= 2)
  {
    TensorRef<T, R - 1> result;
    result.data = data + i * strides[0];
    for (int axis = 1; axis < R; ++axis)
      result.extents[axis - 1] = extents[axis], result.strides[axis - 1] = strides[axis];
    return result;
  }
};

template <class T, int R>
TensorRef(T*, const detail::Count (&)[R]) -> TensorRef<T, R>;
template <class T, int R>
TensorRef(T*, const detail::Count (&)[R], const detail::Count (&)[R]) -> TensorRef<T, R>;

}  // namespace heddle
