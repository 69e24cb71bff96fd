// Reductions along an axis, which stays with extent 1, or over all axes, which gives a scalar. The tree of
// partial results is fixed (docs/language.md).
#pragma once

#include "dsl/shape.h"

namespace heddle {
namespace detail {

template <class X>
consteval void check_reducible() {
  static_assert(kIsExpression<X>, "reductions are of tiles");
  if constexpr (kIsExpression<X>) {
    constexpr DType type = dtype_of<typename X::Element>;
    static_assert(dtype_class(type) != DTypeClass::storage_float,
                  "f8 types are for storage alone: cast<f32>(x) first");
    static_assert(type != DType::i1, "i1 has no sum and no order: cast<i32>(x) first");
  }
}

template <int axis, class X>
auto reduce(record::Reduction kind, const X& x, Where where) {
  check_reducible<X>();
  constexpr bool legal = axis >= 0 && axis < X::Shape::kRank;
  static_assert(legal, "the tile to be reduced has no such axis");
  if constexpr (legal)
    return WithShape<X, Reduced<axis, typename X::Shape>>(record::reduce(use(x, where), kind, axis, where),
                                                          where);
}

template <class X>
auto reduce_all(record::Reduction kind, const X& x, Where where) {
  check_reducible<X>();
  static_assert(X::Shape::kRank > 0, "a scalar has nothing to reduce");
  return Scalar<typename X::Element>(record::reduce_all(use(x, where), kind, where), where);
}

}  // namespace detail

#define HEDDLE_REDUCTION(name)                                      \
  template <int axis, class X>                                      \
  auto name(const X& x, Where where = Where::current()) {           \
    return detail::reduce<axis>(record::Reduction::name, x, where); \
  }                                                                 \
  template <class X>                                                \
    requires(detail::kIsExpression<X>)                              \
  auto name(const X& x, Where where = Where::current()) {           \
    return detail::reduce_all(record::Reduction::name, x, where);   \
  }
HEDDLE_REDUCTION(sum)
HEDDLE_REDUCTION(product)
HEDDLE_REDUCTION(max)
HEDDLE_REDUCTION(min)
#undef HEDDLE_REDUCTION

}  // namespace heddle
