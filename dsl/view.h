// View: memory with extents and strides, and the element offsets that index it. Loads and stores are in
// memory.h.
#pragma once

#include "dsl/operators.h"

namespace heddle {

// An i64 scalar, in the places that take an offset, an extent or a bound: from a tile of rank 0, a number, a
// dim.
struct Index {
  record::Handle handle;
  Where where;

  template <class X>
  Index(const X& x, Where where = Where::current()) : where(where) {
    if constexpr (detail::kIsExpression<X>) {
      static_assert(X::Shape::kRank == 0, "an offset, extent or bound is a scalar, not a tile");
      static_assert(std::is_same_v<typename X::Element, i64>,
                    "offsets, extents and bounds are i64: write cast<i64>(x)");
      handle = detail::use(x, where);
    } else {
      handle = detail::literal<i64>(x, where);
    }
  }
};

// `R` axes of memory, read-only where T is const. `F` more axes in front have been indexed away by `view[i]`.
template <class T, int R, int F = 0>
class View {
  static_assert(detail::kIsElement<std::remove_const_t<T>>,
                "View<T, R>: T is i1, i8, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32 or f64, const where it is "
                "only read");
  static_assert(R >= 1 && R + F <= 5, "View<T, R>: the rank R is between 1 and 5");

 public:
  using Pointee = T;
  static constexpr int kRank = R;
  static constexpr int kFixed = F;

  explicit View(record::Handle handle) : handle_(handle) {}
  template <class U>
    requires(std::is_const_v<T> && std::is_same_v<const U, T>)
  View(const View<U, R, F>& other) : handle_(other.handle()) {
    for (int i = 0; i < F; ++i) fixed_[i] = other.fixed()[i];
  }

  // In elements.
  Scalar<i64> extent(int axis, Where where = Where::current()) const {
    return {record::view_extent(handle_, axis, F, where), where};
  }
  Scalar<i64> stride(int axis, Where where = Where::current()) const {
    return {record::view_stride(handle_, axis, F, where), where};
  }

  // The view of the remaining axes at `i` along the first.
  View<T, (R > 1 ? R - 1 : 1), F + 1> operator[](Index i) const
    requires(R > 1)
  {
    View<T, R - 1, F + 1> result(handle_);
    for (int k = 0; k < F; ++k) result.fixed()[k] = fixed_[k];
    result.fixed()[F] = i.handle;
    return result;
  }

  record::Handle handle() const { return handle_; }
  const record::Handle* fixed() const { return fixed_; }
  record::Handle* fixed() { return fixed_; }

 private:
  record::Handle handle_;
  record::Handle fixed_[F + 1] = {};  // offsets along the leading axes
};

namespace detail {
template <class X>
inline constexpr bool kIsView = false;
template <class T, int R, int F>
inline constexpr bool kIsView<View<T, R, F>> = true;
}  // namespace detail

}  // namespace heddle
