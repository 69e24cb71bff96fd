// Functions of tiles that act lane by lane. Those of one op come from the rows of the op table: exp, exp2,
// expm1, log, log2, log1p, sin, cos, tanh, erf, sigmoid (f16, bf16, f32), sqrt, rsqrt, floor, ceil, trunc,
// round, rint, fma (every float), abs, max, min (every number).
#pragma once

#include "dsl/operators.h"

namespace heddle {
namespace detail {

template <class... X>
inline constexpr bool kAnyExpression = (kIsExpression<X> || ...);

template <class A, class B, class C>
struct Join3 {
  using Two = Join<typename A::Shape, typename B::Shape>;
  using type = typename Join<typename Two::type, typename C::Shape>::type;
};

// The element type among `X...`: that of the first expression.
template <class A, class... B>
consteval auto* first_element() {
  if constexpr (kIsExpression<A>)
    return static_cast<typename A::Element*>(nullptr);
  else
    return first_element<B...>();
}
template <class... X>
using ElementOf = std::remove_pointer_t<decltype(first_element<X...>())>;

template <Op op, class A, class B, class C>
auto ternary(const A& a, const B& b, const C& c, Where where) {
  using T = ElementOf<A, B, C>;
  using L = LeafOf<T, A>;
  using M = LeafOf<T, B>;
  using R = LeafOf<T, C>;
  check_domain<op, T>();
  check_meeting<L, M>();
  check_meeting<L, R>();
  check_meeting<M, R>();
  const record::Handle first = operand<T>(a, where);
  const record::Handle second = operand<T>(b, where);
  const record::Handle third = operand<T>(c, where);
  using Result = typename TileFor<T, typename Join3<L, M, R>::type>::type;
  return Result(record::ternary(op, first, second, third, where), where);
}

}  // namespace detail

#define HEDDLE_VERB_1(name)                               \
  template <class X>                                      \
    requires(detail::kIsExpression<X>)                    \
  auto name(const X& x, Where where = Where::current()) { \
    return detail::unary<Op::name>(x, where);             \
  }
#define HEDDLE_VERB_2(name)                                           \
  template <class A, class B>                                         \
    requires(detail::kAnyExpression<A, B>)                            \
  auto name(const A& a, const B& b, Where where = Where::current()) { \
    return detail::elementwise<Op::name>(a, b, where);                \
  }
#define HEDDLE_VERB_3(name)                                                       \
  template <class A, class B, class C>                                            \
    requires(detail::kAnyExpression<A, B, C>)                                     \
  auto name(const A& a, const B& b, const C& c, Where where = Where::current()) { \
    return detail::ternary<Op::name>(a, b, c, where);                             \
  }
#define HEDDLE_ELEMENTWISE(...)
#define HEDDLE_FUNCTION(name, arity, ...) HEDDLE_VERB_##arity(name)
#include "codegen/ir/ops.def"
#undef HEDDLE_VERB_1
#undef HEDDLE_VERB_2
#undef HEDDLE_VERB_3

// max and min by the names they have beside the reductions.
template <class A, class B>
  requires(detail::kAnyExpression<A, B>)
auto maximum(const A& a, const B& b, Where where = Where::current()) {
  return detail::elementwise<Op::max>(a, b, where);
}
template <class A, class B>
  requires(detail::kAnyExpression<A, B>)
auto minimum(const A& a, const B& b, Where where = Where::current()) {
  return detail::elementwise<Op::min>(a, b, where);
}

// `a` where the i1 tile `condition` is true, else `b`. One of `a`, `b` may be a number.
template <class C, class A, class B>
  requires(detail::kAnyExpression<C, A, B>)
auto select(const C& condition, const A& a, const B& b, Where where = Where::current()) {
  static_assert(detail::kIsExpression<C>, "the condition is a C++ value: write condition ? a : b");
  static_assert(detail::kAnyExpression<A, B>,
                "select between two numbers: give one its type with constant<T>(x)");
  if constexpr (detail::kIsExpression<C> && detail::kAnyExpression<A, B>) {
    static_assert(std::is_same_v<typename C::Element, i1>,
                  "select's condition is an i1 tile: write a comparison");
    using T = detail::ElementOf<A, B>;
    using L = detail::LeafOf<T, A>;
    using R = detail::LeafOf<T, B>;
    detail::check_meeting<L, R>();
    using Joined = detail::Join<typename L::Shape, typename R::Shape>;
    using WithCondition = detail::Join<typename Joined::type, typename C::Shape>;
    static_assert(WithCondition::kRanksMeet && WithCondition::kExtentsMeet,
                  "select's condition does not have the extents of its operands, nor 1: expand<axis>(x) "
                  "inserts an axis");
    const record::Handle first = detail::use(condition, where);
    const record::Handle second = detail::operand<T>(a, where);
    const record::Handle third = detail::operand<T>(b, where);
    using Result = typename detail::TileFor<T, typename WithCondition::type>::type;
    return Result(record::select(first, second, third, where), where);
  }
}

namespace detail {
template <class T, class X>
using WithElement = typename TileFor<T, typename X::Shape>::type;
}

// Between element types: toward zero and saturating to integers, to nearest even to floats
// (docs/language.md).
template <class T, class X>
auto cast(const X& x, Where where = Where::current()) {
  static_assert(detail::kIsElement<T>,
                "cast<T>(x): T is i1, i8, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32 or f64");
  static_assert(detail::kIsExpression<X>,
                "cast<T>(x) is for tiles: a C++ number becomes one with constant<T>(x)");
  if constexpr (detail::kIsExpression<X> && detail::kIsElement<T>)
    return detail::WithElement<T, X>(record::cast(detail::use(x, where), dtype_of<T>, where), where);
}

// The same bits as another type of the same width.
template <class T, class X>
auto bitcast(const X& x, Where where = Where::current()) {
  static_assert(detail::kIsElement<T>, "bitcast<T>(x): T is one of Heddle's element types");
  static_assert(detail::kIsExpression<X>,
                "bitcast<T>(x) is for tiles: a C++ number becomes one with constant<T>(x)");
  if constexpr (detail::kIsExpression<X> && detail::kIsElement<T>) {
    static_assert(bit_width(dtype_of<T>) == bit_width(dtype_of<typename X::Element>),
                  "bitcast keeps the width: the two element types have different numbers of bits");
    return detail::WithElement<T, X>(record::bitcast(detail::use(x, where), dtype_of<T>, where), where);
  }
}

}  // namespace heddle
