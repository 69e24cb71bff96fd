// C++ numbers and dims beside tiles: which are let in, and how they travel to the recorder, which checks that
// the tile's element type holds them exactly.
#pragma once

#include "dsl/dim.h"

namespace heddle {
namespace detail {

template <class...>
inline constexpr bool kNever = false;  // a false that waits for instantiation

template <class X>
inline constexpr bool kIsSmallFloat = std::is_same_v<X, F16> || std::is_same_v<X, BF16> ||
                                      std::is_same_v<X, F8E4M3> || std::is_same_v<X, F8E5M2>;
template <class X>
inline constexpr bool kIsNumber =
    (std::is_arithmetic_v<X> && !std::is_same_v<X, long double>) || kIsSmallFloat<X>;
template <class X>
inline constexpr bool kIsLiteral = kIsNumber<X> || kIsDim<X>;

template <class X>
constexpr record::Number number(X x) {
  record::Number result;
  if constexpr (kIsSmallFloat<X>) {
    result.kind = record::Number::Kind::real;
    result.real = double(float(x));
  } else if constexpr (std::is_floating_point_v<X>) {
    result.kind = record::Number::Kind::real;
    result.real = double(x);
  } else {
    if (std::is_unsigned_v<X>) result.kind = record::Number::Kind::unsigned_integer;
    result.integer = int64_t(x);
  }
  return result;
}

// A number or dim as a scalar of type T.
template <class T, class X>
record::Handle literal(const X& x, Where where) {
  static_assert(kIsLiteral<X>, "this is no tile, no C++ number and no dim, so it can't stand beside a tile");
  if constexpr (kIsDim<X>) {
    static_assert(!std::is_same_v<T, i1>, "a dim is a number, so it can't stand beside an i1 tile");
    return record::literal(dtype_of<T>, X::heddle_dim_name, where);
  } else if constexpr (kIsNumber<X>) {
    static_assert(
        std::is_same_v<T, i1> || !std::is_same_v<X, bool>,
        "a bool goes with i1 tiles only. (Is this a & b == c? It means a & (b == c): write parentheses)");
    static_assert(
        !std::is_same_v<T, i1> || std::is_same_v<X, bool>,
        "only a bool goes with an i1 tile: write true or false, or cast<T>(x) the tile to a number");
    return record::literal(dtype_of<T>, number(x), where);
  } else {
    return {};
  }
}

}  // namespace detail

// A number or dim where an element of type T is asked for, with the line it stands on.
template <class T>
struct Literal {
  record::Handle handle;
  Where where;
  template <class X>
    requires(detail::kIsLiteral<X>)
  Literal(const X& x, Where where = Where::current()) : handle(detail::literal<T>(x, where)), where(where) {}
};

}  // namespace heddle
