// Ptr: a pointer parameter, or a tile of pointers made from one. What may be added to it; loads and stores
// are in memory.h.
#pragma once

#include "dsl/tile.h"

namespace heddle {

template <class T, auto... D>
class Ptr;

template <class T, auto... D>
class At<Ptr<T, D...>> : public detail::Operand {
 public:
  using Pointee = T;
  using Shape = detail::Extents<D...>;
  using Self = Ptr<T, D...>;

  At(record::Handle handle, Where where) : Operand{handle, where} {}
  At(const At& other, Where where = Where::current()) : Operand{other.handle, where} {}
  At& operator=(const At&) = delete;
};

// A pointer to `T`, read-only where T is const; with extents, a tile of pointers.
template <class T, auto... D>
class Ptr : public At<Ptr<T, D...>> {
  static_assert(
      detail::kIsElement<std::remove_const_t<T>>,
      "Ptr<T>: T is i1, i8, i32, i64, f8e4m3, f8e5m2, f16, bf16, f32 or f64, const where it is only read");

 public:
  Ptr(record::Handle handle, Where where) : At<Ptr>(handle, where) {}
  Ptr(const Ptr&) = default;
  template <class U>
    requires(std::is_const_v<T> && std::is_same_v<const U, T>)
  Ptr(const Ptr<U, D...>& other, Where where = Where::current()) : At<Ptr>(other.handle, where) {}

  Ptr& operator=(const Ptr&) {
    static_assert(detail::kNever<T>,
                  "a pointer is a value and can't be assigned to: keep an i64 offset in a Var");
    return *this;
  }
  template <class B>
  void operator+=(const B&) {
    static_assert(detail::kNever<B>,
                  "a pointer is a value and can't be changed: keep an i64 offset in a Var");
  }
};

namespace detail {

template <class X>
inline constexpr bool kIsPointer = requires { typename X::Pointee; };

template <class T, class S>
struct PtrFor;
template <class T, auto... D>
struct PtrFor<T, Extents<D...>> {
  using type = Ptr<T, D...>;
};

// pointer + offset, for `offset` an i64 expression or a number; `negate` for pointer - offset.
template <class P, class X>
auto offset_pointer(const P& pointer, const X& offset, bool negate, Where where) {
  record::Handle amount;
  if constexpr (kIsExpression<X>) {
    static_assert(std::is_same_v<typename X::Element, i64>,
                  "offsets from a pointer count elements in i64: write cast<i64>(offset)");
    using Joined = Join<typename P::Shape, typename X::Shape>;
    static_assert(Joined::kRanksMeet,
                  "the pointers' and offsets' ranks differ: expand<axis>(x) inserts an axis of extent 1");
    static_assert(!Joined::kRanksMeet || Joined::kExtentsMeet,
                  "the pointers' and offsets' extents differ: an extent agrees with the same dim, the same "
                  "number, or 1");
    amount = use(offset, where);
    if (negate) amount = record::unary(Op::neg, amount, where);
    using Result = typename PtrFor<typename P::Pointee, typename Joined::type>::type;
    return Result(record::pointer_add(pointer.handle, amount, where), where);
  } else {
    static_assert(!kIsPointer<X>, "two pointers can't be combined: offsets from a pointer are i64");
    if constexpr (!kIsPointer<X>) amount = literal<i64>(offset, where);
    if (negate) amount = record::unary(Op::neg, amount, where);
    return typename P::Self(record::pointer_add(pointer.handle, amount, where), where);
  }
}

}  // namespace detail
}  // namespace heddle
