// What the element types hold and how numbers round into them, written a second time: straight from the
// formats' definitions, in long double, where codegen/ir works on bits. Tests compare the two. Must not call
// what it checks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "codegen/ir/dtype.h"

namespace heddle::test {

// Exact for every number of every element type, i64 included.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64);

inline constexpr Real kRealInfinity = std::numeric_limits<Real>::infinity();
inline constexpr Real kRealNaN = std::numeric_limits<Real>::quiet_NaN();

// Floats: sign, `exponent_bits` and `mantissa_bits`, of which `largest` is the greatest finite number.
struct ReferenceFormat {
  int exponent_bits, mantissa_bits;
  int least_exponent;  // of normal numbers
  Real largest;
};

inline ReferenceFormat reference_format(DType type) {
  switch (type) {
    case DType::f8e4m3: return {4, 3, -6, 448};
    case DType::f8e5m2: return {5, 2, -14, 57344};
    case DType::f16: return {5, 10, -14, 65504};
    case DType::bf16: return {8, 7, -126, 0x1.fep127L};
    case DType::f32: return {8, 23, -126, 0x1.fffffep127L};
    default: return {11, 52, -1022, 0x1.fffffffffffffp1023L};
  }
}

// The number that `bits` stand for.
inline Real value_of(DType type, uint64_t bits) {
  switch (type) {
    case DType::i1: return bits != 0;
    case DType::i8: return int8_t(bits);
    case DType::i32: return int32_t(bits);
    case DType::i64: return Real(int64_t(bits));
    default: break;
  }
  const ReferenceFormat format = reference_format(type);
  const int m = format.mantissa_bits;
  const uint64_t mantissa = bits & ((uint64_t(1) << m) - 1);
  const int top = (1 << format.exponent_bits) - 1;
  const int field = int(bits >> m) & top;
  const bool negative = bits >> (m + format.exponent_bits) & 1;
  Real value;
  if (type == DType::f8e4m3 && field == top && mantissa == 7)
    value = kRealNaN;
  else if (type != DType::f8e4m3 && field == top)
    value = mantissa ? kRealNaN : kRealInfinity;
  else if (field == 0)
    value = std::ldexp(Real(mantissa), format.least_exponent - m);
  else
    value = std::ldexp(Real(mantissa) + std::ldexp(Real(1), m), format.least_exponent + field - 1 - m);
  return negative ? -value : value;
}

// x + rest rounded once, to nearest even, into a float type. `rest` is what x lost when it was rounded to
// long double: less than half of x's last place, and only its sign is looked at.
inline Real rounded(DType type, Real x, Real rest = 0) {
  const ReferenceFormat format = reference_format(type);
  const Real overflow = type == DType::f8e4m3 ? kRealNaN : std::copysign(kRealInfinity, x);
  if (std::isinf(x)) return overflow;
  if (std::isnan(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const Real step = std::ldexp(Real(1), exponent - format.mantissa_bits);
  const Real steps = x / step;
  Real whole = std::rint(steps);
  if (rest != 0 && std::fabs(steps - std::trunc(steps)) == 0.5L)
    whole = rest > 0 ? std::ceil(steps) : std::floor(steps);
  const Real result = std::copysign(whole * step, x);
  return std::fabs(result) > format.largest ? overflow : result;
}

// Whether `bits` are the number `expected`, with its sign where it is zero; any NaN will do for NaN.
inline bool holds(DType type, uint64_t bits, Real expected) {
  const Real value = value_of(type, bits);
  if (std::isnan(expected)) return std::isnan(value);
  return value == expected &&
         (value != 0 || !is_any_float(type) || std::signbit(value) == std::signbit(expected));
}

}  // namespace heddle::test
