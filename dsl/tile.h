// Tile: a value of the kernel that is being traced, its element type and extents in its C++ type. Node: a
// Tile whose type also says which operations made it. Var's operand form. All hold a handle and no
// references, so copies and `auto` are always safe.
#pragma once

#include "dsl/extents.h"
#include "dsl/literal.h"

namespace heddle {

using record::Op;

template <class T, auto... D>
class Tile;
template <class T>
using Scalar = Tile<T>;
template <Op op, class A, class B = void>
class Node;
template <class T, auto... D>
class Var;

// An operand and the line it is used on. Operators can't have a defaulted source_location, but the
// constructor that initialises their parameter can: an operator takes At<E> by value, deduced from the base
// class At<E> that every expression class E has. As the argument's own class is derived, even a temporary is
// copied, so the default argument of the copy constructor is always evaluated at the operator, in the user's
// file.
template <class E>
class At;

namespace detail {

template <class T>
inline constexpr bool kIsElement = requires { DTypeOf<T>::value; } && !std::is_const_v<T>;

// What the classes At<E> share. The names end in an underscore to keep out of the way of completion.
struct Operand {
  record::Handle handle;
  Where where;
};

template <class X>
inline constexpr bool kIsOperand = std::is_base_of_v<Operand, X>;  // tiles, variables, pointers
template <class X>
inline constexpr bool kIsExpression = requires { typename X::Value; };  // tiles and variables

template <class T, class S>
struct TileFor;
template <class T, auto... D>
struct TileFor<T, Extents<D...>> {
  using type = Tile<T, D...>;
};

// What the compiler asks of the op table.
enum class Domain : uint8_t { number, integer, floating, single, bits, any };
struct Row {
  Domain domain;
  bool comparison;
};
inline constexpr bool same = false, boolean = true;
inline constexpr Row kRows[] = {
#define HEDDLE_ELEMENTWISE(name, arity, domain, result, ...) {Domain::domain, result},
#include "codegen/ir/ops.def"
};
consteval Row row_of(Op op) {
  return kRows[int(op)];
}

template <Op op, class A, class B>
struct NodeValue {
  using T = std::conditional_t<row_of(op).comparison, i1, typename A::Element>;
  using type = typename TileFor<T, typename Join<typename A::Shape, typename B::Shape>::type>::type;
};
template <Op op, class A>
struct NodeValue<op, A, void> {
  using type = typename A::Value;
};

// An operand as it appears in a Node's type: those that are two operations deep count as plain tiles.
template <class E>
using Leaf = std::conditional_t<(E::kDepth >= 2), typename E::Value, E>;
template <class A>
inline constexpr int kDepthOf = A::kDepth;
template <>
inline constexpr int kDepthOf<void> = 0;

// The value of an expression now.
template <class T, auto... D>
record::Handle use(const At<Tile<T, D...>>& tile, Where) {
  return tile.handle;
}
template <class T, auto... D>
record::Handle use(const At<Var<T, D...>>& variable, Where where) {
  return record::read(variable.handle, where);
}

// The value of an expression that must have the type of `Target` already.
template <class Target, class E>
record::Handle use_as(const E& expression, Where where) {
  constexpr bool element = std::is_same_v<typename Target::Element, typename E::Element>;
  static_assert(element, "the element types differ, and nothing converts by itself: write cast<T>(x)");
  static_assert(!element || kSameExtents<typename Target::Shape, typename E::Shape>,
                "the extents differ: broadcast<D...>(x) stretches a scalar or extents of 1, expand<axis>(x) "
                "inserts one");
  return use(expression, where);
}

}  // namespace detail

template <class T, auto... D>
class At<Tile<T, D...>> : public detail::Operand {
 public:
  using Element = T;
  using Shape = detail::Extents<D...>;
  using Value = Tile<T, D...>;
  using Self = Value;
  static constexpr int kDepth = 0;

  At(record::Handle handle, Where where) : Operand{handle, where} {}
  At(const At& other, Where where = Where::current()) : Operand{other.handle, where} {}
  At& operator=(const At&) = delete;
};

// A value: a tile of `T` with extents D..., each a dim or a number; without any, a scalar.
template <class T, auto... D>
class Tile : public At<Tile<T, D...>> {
  static_assert(detail::kIsElement<T>,
                "Tile<T, D...>: T is i1, i8, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32 or f64");
  static_assert((detail::valid_extent<D>() && ...),
                "Tile<T, D...>: the extents are dims declared with HEDDLE_DIM, or integers of at least 1");
  static_assert(sizeof...(D) <= 5, "Tile<T, D...>: a tile has at most 5 axes");

 public:
  Tile(record::Handle handle, Where where) : At<Tile>(handle, where) {}
  Tile(const Tile&) = default;

  // From any expression of this element type and these extents; reads a Var.
  template <class E>
    requires(detail::kIsExpression<E>)
  Tile(const E& value, Where where = Where::current())
      : At<Tile>(detail::use_as<Tile>(value, where), where) {}
  // A scalar from a number.
  template <class X>
    requires(detail::kIsLiteral<X>)
  Tile(const X& x, Where where = Where::current()) : At<Tile>(detail::literal<T>(x, where), where) {
    static_assert(sizeof...(D) == 0, "a number is no tile: write full<T, D...>(x)");
  }

  // What a tile can't do is here so that the compiler says why.
  Tile& operator=(const Tile&) {
    static_assert(detail::kNever<T>,
                  "a tile is a value and can't be assigned to: what changes is a Var (Var x = ...)");
    return *this;
  }
  template <class B>
    requires(std::is_same_v<B, bool>)
  explicit operator B() const {
    static_assert(
        detail::kNever<B>,
        "a tile has no truth value while the kernel is recorded: use when(...).otherwise(...), while_, or "
        "select(c, a, b)");
    return false;
  }
#define HEDDLE_NO_UPDATE(symbol)                                                                  \
  template <class B>                                                                              \
  void operator symbol(const B&) {                                                                \
    static_assert(detail::kNever<B>,                                                              \
                  "a tile is a value and can't be changed: what changes is a Var (Var x = ...)"); \
  }
  HEDDLE_NO_UPDATE(+=)
  HEDDLE_NO_UPDATE(-=)
  HEDDLE_NO_UPDATE(*=)
  HEDDLE_NO_UPDATE(/=)
#undef HEDDLE_NO_UPDATE
};

template <class T, auto... D>
Tile(const At<Var<T, D...>>&) -> Tile<T, D...>;

template <Op op, class A, class B>
class At<Node<op, A, B>> : public detail::NodeValue<op, A, B>::type {
  using Base = typename detail::NodeValue<op, A, B>::type;

 public:
  using Self = Node<op, A, B>;
  static constexpr int kDepth =
      1 + (detail::kDepthOf<A> > detail::kDepthOf<B> ? detail::kDepthOf<A> : detail::kDepthOf<B>);

  At(record::Handle handle, Where where) : Base(handle, where) {}
  At(const At& other, Where where = Where::current()) : Base(other.handle, where) {}
};

// The result of an elementwise operation. It is recorded where it is written, once, like every value, and is
// a Tile to whoever asks for one. Its type goes two operations back: enough to see `a < b < c` or `a * b +
// c`, and too little for a chain of `auto` lines to grow types.
template <Op op, class A, class B>
class Node : public At<Node<op, A, B>> {
 public:
  Node(record::Handle handle, Where where) : At<Node>(handle, where) {}
};

// A variable as an operand: reading it is up to whoever takes it.
template <class T, auto... D>
class At<Var<T, D...>> : public detail::Operand {
 public:
  using Element = T;
  using Shape = detail::Extents<D...>;
  using Value = Tile<T, D...>;
  using Self = Value;
  static constexpr int kDepth = 0;

  At(record::Handle handle, Where where) : Operand{handle, where} {}
  At(const At& other, Where where = Where::current()) : Operand{other.handle, where} {}
  At& operator=(const At&) = delete;
};

}  // namespace heddle
