// The operators of tiles, and what the compiler checks in them: element types, ranks, extents.
#pragma once

#include "dsl/pointer.h"
#include "dsl/tile.h"

namespace heddle {
namespace detail {

template <class E>
inline constexpr bool kIsComparison = false;
template <Op op, class A, class B>
inline constexpr bool kIsComparison<Node<op, A, B>> = row_of(op).comparison;

// Whether `op` is defined on T; says what is wrong where it isn't.
template <Op op, class T>
consteval void check_domain() {
  constexpr DType type = dtype_of<T>;
  constexpr Domain domain = row_of(op).domain;
  constexpr bool storage = dtype_class(type) == DTypeClass::storage_float;
  static_assert(!storage, "f8 types are for storage alone: cast<f32>(x) first");
  static_assert(storage || domain != Domain::integer || is_integer(type),
                "this operation is for integers alone");
  static_assert(storage || (domain != Domain::floating && domain != Domain::single) || is_floating(type),
                "this function is for floats alone: cast<f32>(x) first");
  static_assert(storage || domain != Domain::bits || is_integer(type) || type == DType::i1,
                "& | ^ ~ are for integers and i1: bitcast<T>(x) gives a float's bits");
  static_assert(
      domain != Domain::number || type != DType::i1,
      "i1 has no arithmetic and no order, only & | ^ ! == !=: write cast<T>(x), or select(c, a, b)");
  static_assert(domain != Domain::single || type != DType::f64,
                "exp, log, sin and their kin are for f16, bf16 and f32: cast<f32>(x) first");
}

// Whether the element types, ranks and extents of two operands go together. One mistake gives one message.
template <class A, class B>
consteval void check_meeting() {
  constexpr bool elements = std::is_same_v<typename A::Element, typename B::Element>;
  using Joined = Join<typename A::Shape, typename B::Shape>;
  static_assert(elements,
                "the operands' element types differ, and nothing converts by itself: write cast<T>(x)");
  static_assert(!elements || Joined::kRanksMeet,
                "the operands' ranks differ: expand<axis>(x) inserts an axis of extent 1, which stretches");
  static_assert(
      !elements || !Joined::kRanksMeet || Joined::kExtentsMeet,
      "the operands' extents differ: an extent agrees with the same dim, the same number, or the number 1 "
      "(BM and BN differ even where both are bound to 64)");
}

// What an operand is in a Node's type: numbers and dims become scalars.
template <class T, class X>
consteval auto* leaf() {
  if constexpr (kIsExpression<X>)
    return static_cast<Leaf<typename X::Self>*>(nullptr);
  else
    return static_cast<Scalar<T>*>(nullptr);
}
template <class T, class X>
using LeafOf = std::remove_pointer_t<decltype(leaf<T, X>())>;

// An operand's value; `T` is what numbers become.
template <class T, class X>
record::Handle operand(const X& x, Where where) {
  if constexpr (kIsExpression<X>)
    return use(x, where);
  else
    return literal<T>(x, where);
}

template <Op op, class A>
auto unary(const A& a, Where where) {
  using T = typename A::Element;
  check_domain<op, T>();
  return Node<op, LeafOf<T, A>>(record::unary(op, use(a, where), where), where);
}

template <class A, class B>
struct FirstElement {
  using type = typename A::Element;
};
template <class A, class B>
  requires(!kIsExpression<A>)
struct FirstElement<A, B> {
  using type = typename B::Element;
};

// At least one of `a`, `b` is an expression.
template <Op op, class A, class B>
auto elementwise(const A& a, const B& b, Where where) {
  using T = typename FirstElement<A, B>::type;
  using L = LeafOf<T, A>;
  using R = LeafOf<T, B>;
  constexpr bool chain =
      row_of(op).comparison && kIsComparison<L> && !std::is_same_v<typename R::Element, i1>;
  static_assert(!chain, "a < b < c compares the i1 result of a < b with c: write (a < b) & (b < c)");
  if constexpr (!chain) {
    check_meeting<L, R>();
    if constexpr (std::is_same_v<typename L::Element, typename R::Element>) check_domain<op, T>();
  }
  const record::Handle left = operand<T>(a, where);
  const record::Handle right = operand<T>(b, where);
  return Node<op, L, R>(record::binary(op, left, right, where), where);
}

template <Op op, class A, class B>
auto binary(const A& a, const B& b, Where where) {
  if constexpr (kIsPointer<A> || kIsPointer<B>) {
    static_assert(op == Op::add || (op == Op::sub && kIsPointer<A>),
                  "pointers have + and - with i64 offsets, no more");
    if constexpr (kIsPointer<A>)
      return offset_pointer(a, b, op == Op::sub, where);
    else
      return offset_pointer(b, a, false, where);
  } else {
    return elementwise<op>(a, b, where);
  }
}

}  // namespace detail

#define HEDDLE_BINARY(symbol, op)                 \
  template <class A, class B>                     \
  auto operator symbol(At<A> a, At<B> b) {        \
    return detail::binary<Op::op>(a, b, a.where); \
  }                                               \
  template <class A, class B>                     \
    requires(!detail::kIsOperand<B>)              \
  auto operator symbol(At<A> a, const B& b) {     \
    return detail::binary<Op::op>(a, b, a.where); \
  }                                               \
  template <class A, class B>                     \
    requires(!detail::kIsOperand<A>)              \
  auto operator symbol(const A& a, At<B> b) {     \
    return detail::binary<Op::op>(a, b, b.where); \
  }
HEDDLE_BINARY(+, add)
HEDDLE_BINARY(-, sub)
HEDDLE_BINARY(*, mul)
HEDDLE_BINARY(/, div)
HEDDLE_BINARY(%, rem)
HEDDLE_BINARY(&, bit_and)
HEDDLE_BINARY(|, bit_or)
HEDDLE_BINARY(^, bit_xor)
HEDDLE_BINARY(<<, shl)
HEDDLE_BINARY(>>, shr)
HEDDLE_BINARY(==, eq)
HEDDLE_BINARY(!=, ne)
HEDDLE_BINARY(<, lt)
HEDDLE_BINARY(<=, le)
HEDDLE_BINARY(>, gt)
HEDDLE_BINARY(>=, ge)
#undef HEDDLE_BINARY

template <class A>
auto operator-(At<A> a) {
  static_assert(!detail::kIsPointer<A>, "pointers have + and - with i64 offsets, no more");
  return detail::unary<Op::neg>(a, a.where);
}
template <class A>
auto operator~(At<A> a) {
  return detail::unary<Op::bit_not>(a, a.where);
}
template <class A>
auto operator!(At<A> a) {
  static_assert(std::is_same_v<typename A::Element, i1>,
                "! is for i1: write x == 0, or ~x for an integer's bits");
  return detail::unary<Op::bit_not>(a, a.where);
}

// && and || can't be lazy on tiles.
#define HEDDLE_NO_LOGIC(symbol, instead)                                                                \
  template <class A, class B>                                                                           \
    requires(detail::kIsOperand<A> || detail::kIsOperand<B>)                                            \
  Scalar<i1> operator symbol(const A&, const B&) {                                                      \
    static_assert(detail::kNever<A>, #symbol " decides in C++, before the kernel runs: write " instead  \
                                             " between i1 tiles, with parentheses around comparisons"); \
    return {record::Handle::none, Where{}};                                                             \
  }
HEDDLE_NO_LOGIC(&&, "&")
HEDDLE_NO_LOGIC(||, "|")
#undef HEDDLE_NO_LOGIC

}  // namespace heddle
