// What a kernel's parameters may be, and which host values stand for them in a call.
#pragma once

#include "dsl/pointer.h"
#include "dsl/view.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"

namespace heddle {
namespace detail {

// How a parameter is declared to the recorder, made, and packed from a host value.
template <class P>
struct Parameter {
  static constexpr bool kLegal = false;
};

template <class T>
struct Parameter<Ptr<T>> {
  static constexpr bool kLegal = true;
  static constexpr record::Parameter kSpec = {record::Parameter::Kind::pointer, dtype_of<T>, 0,
                                              std::is_const_v<T>};
  static Ptr<T> make(record::Handle handle) { return {handle, Where{}}; }

  template <class X>
  static void pack(const X& x, runtime::Argument& argument, Where) {
    using U = std::remove_pointer_t<X>;
    constexpr bool accepted = std::is_convertible_v<const X&, T*>;
    static_assert(!std::is_pointer_v<X> || std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>>,
                  "a Ptr<T> parameter takes a T*: this pointer is to another type");
    static_assert(
        accepted || !std::is_pointer_v<X> || !std::is_const_v<U>,
        "the kernel may store through this Ptr<T>, so it takes no pointer to const: make the parameter a "
        "Ptr<const T>, or the memory mutable");
    static_assert(accepted || std::is_pointer_v<X>, "a Ptr<T> parameter takes a T* or nullptr");
    if constexpr (accepted) {
      argument.kind = runtime::Argument::Kind::pointer;
      argument.element = dtype_of<T>;
      argument.read_only = std::is_const_v<T>;
      argument.bits = uint64_t(reinterpret_cast<uintptr_t>(static_cast<T*>(x)));
    }
  }
};

template <class X>
inline constexpr bool kIsTensor = false;
template <class T, int R>
inline constexpr bool kIsTensor<TensorRef<T, R>> = true;

template <class T, int R>
struct Parameter<View<T, R>> {
  static constexpr bool kLegal = true;
  static constexpr record::Parameter kSpec = {record::Parameter::Kind::view, dtype_of<T>, R,
                                              std::is_const_v<T>};
  static View<T, R> make(record::Handle handle) { return View<T, R>(handle); }

  template <class X>
  static void pack(const X& x, runtime::Argument& argument, Where) {
    if constexpr (kIsTensor<X>) {
      using U = typename X::Element;
      constexpr bool element = std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>>;
      static_assert(element,
                    "a View<T, R> parameter takes a TensorRef<T, R>: this one has another element type");
      static_assert(X::kRank == R,
                    "a View<T, R> parameter takes a TensorRef<T, R>: this one has another rank");
      static_assert(
          !element || std::is_const_v<T> || !std::is_const_v<U>,
          "the kernel may store to this View<T, R>, so it takes no TensorRef of const: make the parameter a "
          "View<const T, R>, or the memory mutable");
      if constexpr (element && X::kRank == R && (std::is_const_v<T> || !std::is_const_v<U>))
        fill(x, argument);
    } else {
      constexpr bool accepted = std::is_convertible_v<const X&, TensorRef<T, R>>;
      static_assert(accepted,
                    "a View<T, R> parameter takes a TensorRef<T, R>: TensorRef(pointer, {extents...})");
      if constexpr (accepted) fill(TensorRef<T, R>(x), argument);
    }
  }

 private:
  template <class U>
  static void fill(const TensorRef<U, R>& tensor, runtime::Argument& argument) {
    argument.kind = runtime::Argument::Kind::view;
    argument.element = dtype_of<T>;
    argument.rank = R;
    argument.read_only = std::is_const_v<T>;
    argument.bits = uint64_t(reinterpret_cast<uintptr_t>(tensor.data));
    for (int i = 0; i < R; ++i)
      argument.extents[i] = tensor.extents[i], argument.strides[i] = tensor.strides[i];
  }
};

template <class T>
struct Parameter<Tile<T>> {
  static constexpr bool kLegal = true;
  static constexpr record::Parameter kSpec = {record::Parameter::Kind::scalar, dtype_of<T>, 0, true};
  static Scalar<T> make(record::Handle handle) { return {handle, Where{}}; }

  // Every value of X is one of T, or T is an integer and the value is checked.
  template <class X>
  static consteval bool fits() {
    if constexpr (std::is_same_v<X, T>)
      return true;
    else if constexpr (!kIsNumber<X> || std::is_same_v<X, bool> || std::is_same_v<T, bool>)
      return false;
    else if constexpr (std::is_integral_v<T>)
      return std::is_integral_v<X>;
    else
      return std::is_floating_point_v<T> && !std::is_integral_v<X> && sizeof(X) <= sizeof(T);
  }

  template <class X>
  static void pack(const X& x, runtime::Argument& argument, Where where) {
    static_assert(
        fits<X>(),
        "a Scalar<T> parameter takes a T, or a number of a C++ type whose values all are: convert it "
        "first, T(x)");
    if constexpr (fits<X>()) {
      if constexpr (std::is_integral_v<X> && !std::is_same_v<X, T>)
        if (x != static_cast<X>(static_cast<T>(x)) || (x < 0) != (static_cast<T>(x) < 0))
          record::report_scalar(dtype_of<T>, number(x), where);
      argument.kind = runtime::Argument::Kind::scalar;
      argument.element = dtype_of<T>;
      argument.read_only = true;
      if constexpr (std::is_floating_point_v<T> && !std::is_floating_point_v<X>)
        store_bits(T(float(x)), argument);
      else
        store_bits(T(x), argument);
    }
  }

 private:
  static void store_bits(T value, runtime::Argument& argument) {
    argument.bits = 0;
    __builtin_memcpy(&argument.bits, &value, sizeof value);
  }
};

}  // namespace detail
}  // namespace heddle
