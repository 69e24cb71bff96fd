// Making tiles, and changing their shape.
#pragma once

#include "dsl/operators.h"

namespace heddle {
namespace detail {

template <auto H, class S>
struct Prepend;
template <auto H, auto... D>
struct Prepend<H, Extents<D...>> {
  using type = Extents<H, D...>;
};

// The extents with 1 inserted before `axis`, without `axis`, with 1 for `axis`, with the last two swapped.
template <int axis, class S>
struct Inserted;
template <auto... D>
struct Inserted<0, Extents<D...>> {
  using type = Extents<1, D...>;
};
template <int axis, auto H, auto... D>
  requires(axis > 0)
struct Inserted<axis, Extents<H, D...>> : Prepend<H, typename Inserted<axis - 1, Extents<D...>>::type> {};

template <int axis, class S>
struct Erased;
template <auto H, auto... D>
struct Erased<0, Extents<H, D...>> {
  static constexpr bool kWasOne = is_one<H>();
  using type = Extents<D...>;
};
template <int axis, auto H, auto... D>
  requires(axis > 0)
struct Erased<axis, Extents<H, D...>> {
  using Rest = Erased<axis - 1, Extents<D...>>;
  static constexpr bool kWasOne = Rest::kWasOne;
  using type = typename Prepend<H, typename Rest::type>::type;
};

template <int axis, class S>
using Reduced = typename Inserted<axis, typename Erased<axis, S>::type>::type;

template <class S>
struct Swapped;
template <auto A, auto B>
struct Swapped<Extents<A, B>> {
  using type = Extents<B, A>;
};
template <auto H, auto A, auto B, auto... D>
struct Swapped<Extents<H, A, B, D...>> : Prepend<H, typename Swapped<Extents<A, B, D...>>::type> {};

template <class X, class S>
using WithShape = typename TileFor<typename X::Element, S>::type;

}  // namespace detail

// x, rounded to T where T does not hold it exactly.
template <class T, class X>
Scalar<T> constant(X x, Where where = Where::current()) {
  static_assert(detail::kIsElement<T>, "constant<T>(x): T is one of Heddle's element types");
  static_assert(detail::kIsNumber<X>, "constant<T>(x): x is a C++ number");
  if constexpr (detail::kIsNumber<X>) return {record::constant(dtype_of<T>, detail::number(x), where), where};
}

// A tile whose lanes are all `x`: a number that T holds exactly, a dim, or a scalar of T.
template <class T, auto... D, class X>
Tile<T, D...> full(const X& x, Where where = Where::current()) {
  if constexpr (detail::kIsExpression<X>)
    return {record::full(detail::use_as<Scalar<T>>(x, where), detail::kShape<D...>, where), where};
  else
    return {record::full(detail::literal<T>(x, where), detail::kShape<D...>, where), where};
}

template <class T, auto... D>
Tile<T, D...> zeros(Where where = Where::current()) {
  return {record::full(record::constant(dtype_of<T>, {}, where), detail::kShape<D...>, where), where};
}

// 0, 1, ... D - 1.
template <auto D>
Tile<i64, D> arange(Where where = Where::current()) {
  return {record::arange(detail::extent_of<D>(), where), where};
}

// Inserts an axis of extent 1 before `axis`; such an axis stretches to any extent.
template <int axis, class X>
auto expand(const X& x, Where where = Where::current()) {
  static_assert(detail::kIsExpression<X>, "expand<axis>(x): x is a tile");
  constexpr bool legal = axis >= 0 && axis <= X::Shape::kRank;
  static_assert(legal, "expand<axis>(x): the axis is between 0 and x's rank");
  if constexpr (legal)
    return detail::WithShape<X, typename detail::Inserted<axis, typename X::Shape>::type>(
        record::expand(detail::use(x, where), axis, where), where);
}

// Drops `axis`, whose extent is the literal 1.
template <int axis, class X>
auto squeeze(const X& x, Where where = Where::current()) {
  static_assert(detail::kIsExpression<X>, "squeeze<axis>(x): x is a tile");
  constexpr bool legal = axis >= 0 && axis < X::Shape::kRank;
  static_assert(legal, "squeeze<axis>(x): x has no such axis");
  if constexpr (legal) {
    using Erased = detail::Erased<axis, typename X::Shape>;
    static_assert(Erased::kWasOne, "squeeze<axis>(x): the axis has an extent other than 1");
    return detail::WithShape<X, typename Erased::type>(record::squeeze(detail::use(x, where), axis, where),
                                                       where);
  }
}

// The last two axes swapped.
template <class X>
auto transpose(const X& x, Where where = Where::current()) {
  static_assert(detail::kIsExpression<X>, "transpose(x): x is a tile");
  constexpr bool legal = X::Shape::kRank >= 2;
  static_assert(legal, "transpose(x): x has fewer than two axes");
  if constexpr (legal)
    return detail::WithShape<X, typename detail::Swapped<typename X::Shape>::type>(
        record::transpose(detail::use(x, where), where), where);
}

// A scalar, or a tile with extents of 1, stretched to D...
template <auto... D, class X>
auto broadcast(const X& x, Where where = Where::current()) {
  static_assert(detail::kIsExpression<X>,
                "broadcast<D...>(x): x is a tile; a number becomes one with full<T, D...>(x)");
  using Joined = detail::Join<detail::Extents<D...>, typename X::Shape>;
  static_assert(Joined::kRanksMeet,
                "broadcast<D...>(x): the ranks differ: expand<axis>(x) inserts an axis of extent 1");
  static_assert(!Joined::kRanksMeet || (Joined::kExtentsMeet &&
                                        detail::kSameExtents<typename Joined::type, detail::Extents<D...>>),
                "broadcast<D...>(x): x has an extent that is neither 1 nor the one asked for");
  return Tile<typename X::Element, D...>(
      record::broadcast(detail::use(x, where), detail::kShape<D...>, where), where);
}

}  // namespace heddle
