// Var: a value that changes. The only thing in a kernel that can be assigned to.
#pragma once

#include "dsl/operators.h"

namespace heddle {

// A variable of a tile or scalar type. `Var acc = zeros<f32, BM, BN>();` Reading it is recorded where it is
// written; a copy is a new variable with the value of that moment. Loops and branches change the variables
// that live outside.
template <class T, auto... D>
class Var : public At<Var<T, D...>> {
 public:
  using Value = Tile<T, D...>;

  Var(const Var& other, Where where = Where::current())
      : At<Var>(record::variable(record::read(other.handle, where), where), where) {}
  template <class E>
    requires(detail::kIsExpression<E>)
  Var(const E& value, Where where = Where::current())
      : At<Var>(record::variable(detail::use_as<Value>(value, where), where), where) {}
  template <class X>
    requires(detail::kIsLiteral<X>)
  Var(const X& x, Where where = Where::current())
      : At<Var>(
            record::variable(record::full(detail::literal<T>(x, where), detail::kShape<D...>, where), where),
            where) {}

  // Assignments take At<E>, which knows its line; the implicit assignment, which would not, is out of the
  // running.
  Var& operator=(const Var&)
    requires(detail::kNever<T>)
  {
    return *this;
  }
  template <class E>
  void operator=(At<E> value) {
    check<E>();
    record::write(this->handle, detail::use(value, value.where), value.where);
  }
  void operator=(Literal<T> number) { record::write(this->handle, number.handle, number.where); }

#define HEDDLE_UPDATE(symbol, op)                                                                  \
  template <class E>                                                                               \
  void operator symbol(At<E> value) {                                                              \
    check<E>();                                                                                    \
    update(detail::elementwise<Op::op>(current(value.where), value, value.where), value.where);    \
  }                                                                                                \
  void operator symbol(Literal<T> number) {                                                        \
    const Scalar<T> value(number.handle, number.where);                                            \
    update(detail::elementwise<Op::op>(current(number.where), value, number.where), number.where); \
  }
  HEDDLE_UPDATE(+=, add)
  HEDDLE_UPDATE(-=, sub)
  HEDDLE_UPDATE(*=, mul)
  HEDDLE_UPDATE(/=, div)
  HEDDLE_UPDATE(%=, rem)
  HEDDLE_UPDATE(&=, bit_and)
  HEDDLE_UPDATE(|=, bit_or)
  HEDDLE_UPDATE(^=, bit_xor)
  HEDDLE_UPDATE(<<=, shl)
  HEDDLE_UPDATE(>>=, shr)
#undef HEDDLE_UPDATE

  template <class B>
    requires(std::is_same_v<B, bool>)
  explicit operator B() const {
    static_assert(
        detail::kNever<B>,
        "a Var has no truth value while the kernel is recorded: use when(...).otherwise(...), while_, or "
        "select(c, a, b)");
    return false;
  }

 private:
  template <class E>
  static consteval void check() {
    constexpr bool element = std::is_same_v<T, typename E::Element>;
    static_assert(element,
                  "the Var's element type differs from the value's, and nothing converts by itself: write "
                  "cast<T>(x)");
    using Joined = detail::Join<detail::Extents<D...>, typename E::Shape>;
    static_assert(!element || (Joined::kRanksMeet && Joined::kExtentsMeet &&
                               detail::kSameExtents<typename Joined::type, detail::Extents<D...>>),
                  "the value does not have the Var's extents, nor 1 in their place: a Var keeps its shape");
  }
  Value current(Where where) const { return {record::read(this->handle, where), where}; }
  void update(const Value& value, Where where) { record::write(this->handle, value.handle, where); }
};

template <class T, auto... D>
Var(const At<Tile<T, D...>>&) -> Var<T, D...>;
// A number has its C++ type: Var x = 0.0f is f32, Var i = i64{0} is i64.
template <class X>
  requires(detail::kIsNumber<X>)
Var(const X&) -> Var<X>;

}  // namespace heddle
