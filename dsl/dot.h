// dot: the contraction of two tiles.
#pragma once

#include "dsl/operators.h"

namespace heddle {
namespace detail {

template <class T>
struct Accumulator {
  using type = f32;
};
template <>
struct Accumulator<f64> {
  using type = f64;
};
template <>
struct Accumulator<i8> {
  using type = i32;
};

template <class A, class B>
struct Dot {
  static constexpr bool kRanks = false;
};
template <auto M, auto K, auto K2, auto N>
struct Dot<Extents<M, K>, Extents<K2, N>> {
  static constexpr bool kRanks = true, kInner = same_extent<K, K2>();
  template <class T>
  using Result = Tile<typename Accumulator<T>::type, M, N>;
};

}  // namespace detail

// What dot accumulates in: f32 for f16, bf16 and f32, f64 for f64, i32 for i8.
template <class T>
using accumulator_of = typename detail::Accumulator<T>::type;

// a[M, K] times b[K, N]: per element one chain of fused multiply-adds, in the order of K.
template <class A, class B>
auto dot(const A& a, const B& b, Where where = Where::current()) {
  constexpr bool tiles = detail::kIsExpression<A> && detail::kIsExpression<B>;
  static_assert(tiles, "dot(a, b): both are tiles");
  if constexpr (tiles) {
    using T = typename A::Element;
    constexpr bool elements = std::is_same_v<T, typename B::Element>;
    static_assert(elements,
                  "dot(a, b): the element types differ, and nothing converts by itself: write cast<T>(x)");
    static_assert(is_floating(dtype_of<T>) || std::is_same_v<T, i8>,
                  "dot(a, b): the element type is f16, bf16, f32, f64 or i8; cast<T>(x) others");
    using Dot = detail::Dot<typename A::Shape, typename B::Shape>;
    static_assert(Dot::kRanks, "dot(a, b): both tiles have two axes; squeeze<axis>(x) drops one of extent 1");
    if constexpr (Dot::kRanks) {
      static_assert(Dot::kInner,
                    "dot(a, b): a is [M, K] and b is [K, N], but a's last extent is not b's first");
      const record::Handle left = detail::use(a, where);
      const record::Handle right = detail::use(b, where);
      return typename Dot::template Result<T>(record::dot(left, right, where), where);
    }
  }
}

}  // namespace heddle
