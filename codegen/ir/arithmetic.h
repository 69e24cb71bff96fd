// What the elementwise rows of ops.def mean, over C++ values: bool, int8_t, int32_t, int64_t, float, double.
// The interpreter and constant folding compute with these functions, and the compilers are tested against
// them. Defined for every input, where C++ alone is not. Needs -ffp-contract=off and the default rounding
// mode. docs/language.md states the same in words.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace heddle::ir {

template <class V>
inline constexpr bool is_float_value = std::is_floating_point_v<V>;
template <class V>
inline constexpr int value_bits = int(sizeof(V)) * 8;
// Unsigned arithmetic wraps; 8 bits promote to int, which holds every result that is then cut down.
template <class V>
using Unsigned = std::make_unsigned_t<V>;

template <class V>
V wrapping_add(V a, V b) {
  if constexpr (is_float_value<V>)
    return a + b;
  else
    return V(Unsigned<V>(a) + Unsigned<V>(b));
}

template <class V>
V wrapping_sub(V a, V b) {
  if constexpr (is_float_value<V>)
    return a - b;
  else
    return V(Unsigned<V>(a) - Unsigned<V>(b));
}

template <class V>
V wrapping_mul(V a, V b) {
  if constexpr (is_float_value<V>)
    return a * b;
  else
    return V(Unsigned<V>(a) * Unsigned<V>(b));
}

// Flips the sign bit, also of NaN and zero.
template <class V>
V negate(V a) {
  if constexpr (is_float_value<V>)
    return -a;
  else
    return V(Unsigned<V>(0) - Unsigned<V>(a));
}

// Clears the sign bit; the least integer stays itself.
template <class V>
V absolute(V a) {
  if constexpr (is_float_value<V>)
    return std::fabs(a);
  else
    return a < 0 ? negate(a) : a;
}

// Toward zero; x / 0 is all ones; least / -1 wraps to least.
template <class V>
V total_div(V a, V b) {
  if constexpr (is_float_value<V>) {
    return a / b;
  } else {
    if (b == 0) return V(-1);
    return b == -1 ? negate(a) : V(a / b);
  }
}

// Has the dividend's sign; x % 0 is x; x % -1 is 0.
template <class V>
V total_rem(V a, V b) {
  if (b == 0) return a;
  return b == -1 ? V(0) : V(a % b);
}

// NaN if either is; +0 above -0.
template <class V>
V maximum(V a, V b) {
  if constexpr (is_float_value<V>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

// NaN if either is; -0 below +0.
template <class V>
V minimum(V a, V b) {
  if constexpr (is_float_value<V>) {
    if (a != a) return a;
    if (b != b) return b;
    if (a == b) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

// a * b + c, rounded once.
template <class V>
V fused_multiply_add(V a, V b, V c) {
  return std::fma(a, b, c);
}

// a * b + c for operands that f16 or bf16 hold, rounded to odd: where f64 is inexact, the last bit becomes 1,
// so that rounding once more, to a format of at most 51 bits, is as good as rounding once. An f32 fma would
// not do: it drops what breaks a tie of the narrow format. (The product is exact; the error of the sum is
// Knuth's TwoSum; odd rounding: Boldo and Melquiond, "When double rounding is odd".)
inline double multiply_add_to_odd(float a, float b, float c) {
  const double product = double(a) * double(b), addend = c;
  const double sum = product + addend;
  const double part = sum - product;
  const double error = (product - (sum - part)) + (addend - part);
  const uint64_t bits = std::bit_cast<uint64_t>(sum);
  const bool inexact = error < 0 || error > 0;  // neither where the sum is infinite: the error is NaN then
  if (!inexact || (bits & 1)) return sum;
  return std::bit_cast<double>((error < 0) == (sum < 0) ? bits + 1 : bits - 1);
}

template <class V>
V complement(V a) {
  if constexpr (std::is_same_v<V, bool>)
    return !a;
  else
    return V(~a);
}

// The count is taken as unsigned; from the width on, everything is shifted out.
template <class V>
V shift_left(V a, V count) {
  if (Unsigned<V>(count) >= unsigned(value_bits<V>)) return 0;
  return V(Unsigned<V>(a) << Unsigned<V>(count));
}

// Arithmetic; from the width on, the sign fills the result.
template <class V>
V shift_right(V a, V count) {
  if (Unsigned<V>(count) >= unsigned(value_bits<V>)) return a < 0 ? V(-1) : V(0);
  return V(a >> Unsigned<V>(count));
}

template <class V>
V square_root(V a) {
  return std::sqrt(a);
}

template <class V>
V round_down(V a) {
  return std::floor(a);
}

template <class V>
V round_nearest_even(V a) {
  return std::nearbyint(a);
}

// The result type of rows without a meaning of their own: expand_math rewrites them.
struct Expanded {};
template <class V>
Expanded expanded(V) {
  return {};
}

// Toward zero, saturating; NaN gives 0.
template <class Integer, class Float>
Integer saturating_cast(Float a) {
  using Limits = std::numeric_limits<Integer>;
  constexpr Float kPastEnd = Float(uint64_t(1) << (value_bits<Integer> - 1));  // a power of two: exact
  if (a != a) return 0;
  if (a < -kPastEnd) return Limits::min();
  if (a >= kPastEnd) return Limits::max();
  return Integer(a);
}

}  // namespace heddle::ir
