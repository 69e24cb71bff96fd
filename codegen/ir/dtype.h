// Element types: the table, and the storage forms that host programs hold. Public; light.
#pragma once

#include <bit>
#include <cstdint>

namespace heddle {

// One row per element type: name, C++ storage type, bits of the value, class.
// i1 is stored as one byte, 0 or 1; any nonzero byte reads as true.
#define HEDDLE_DTYPES(X)              \
  X(i1, bool, 1, boolean)             \
  X(i8, int8_t, 8, integer)           \
  X(i32, int32_t, 32, integer)        \
  X(i64, int64_t, 64, integer)        \
  X(f8e4m3, F8E4M3, 8, storage_float) \
  X(f8e5m2, F8E5M2, 8, storage_float) \
  X(f16, F16, 16, floating)           \
  X(bf16, BF16, 16, floating)         \
  X(f32, float, 32, floating)         \
  X(f64, double, 64, floating)

// `storage_float`: load, store and cast only; arithmetic happens after a cast.
enum class DTypeClass : uint8_t { boolean, integer, storage_float, floating };

enum class DType : uint8_t {
#define HEDDLE_ROW(name, storage, bits, kind) name,
  HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
};

constexpr const char* to_string(DType type) {
  constexpr const char* kNames[] = {
#define HEDDLE_ROW(name, storage, bits, kind) #name,
      HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
  };
  return kNames[int(type)];
}

constexpr DTypeClass dtype_class(DType type) {
  constexpr DTypeClass kClasses[] = {
#define HEDDLE_ROW(name, storage, bits, kind) DTypeClass::kind,
      HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
  };
  return kClasses[int(type)];
}

constexpr int bit_width(DType type) {
  constexpr int kBits[] = {
#define HEDDLE_ROW(name, storage, bits, kind) bits,
      HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
  };
  return kBits[int(type)];
}

constexpr int size_bytes(DType type) {
  return (bit_width(type) + 7) / 8;
}
constexpr bool is_integer(DType type) {
  return dtype_class(type) == DTypeClass::integer;
}
constexpr bool is_floating(DType type) {
  return dtype_class(type) == DTypeClass::floating;
}  // has arithmetic
constexpr bool is_any_float(DType type) {
  return dtype_class(type) >= DTypeClass::storage_float;
}

// A small float format as IEEE-like fields. e4m3 is OCP's "fn": no infinities, NaN is S.1111.111, largest
// 448.
struct FloatFormat {
  int exponent_bits, mantissa_bits;
  bool has_infinity;
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
constexpr FloatFormat float_format(DType type) {
  switch (type) {
    case DType::f8e4m3: return {4, 3, false};
    case DType::f8e5m2: return {5, 2, true};
    case DType::f16: return {5, 10, true};
    case DType::bf16: return {8, 7, true};
    case DType::f32: return {8, 23, true};
    default: return {11, 52, true};
  }
}

// Value of a bit pattern in a format of at most 16 bits. Exact; every NaN gives a quiet NaN of its sign.
constexpr float decode_float(uint32_t bits, FloatFormat format) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const uint32_t exponent = (bits >> format.mantissa_bits) & exponent_mask;
  const uint32_t sign = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1u) << 31;
  const uint32_t aligned = mantissa << (23 - format.mantissa_bits);  // as an f32's mantissa
  if (exponent == exponent_mask && format.has_infinity)
    return std::bit_cast<float>(sign | 0x7f800000u | aligned | (mantissa ? 0x400000u : 0u));
  if (exponent == exponent_mask && mantissa == (1u << format.mantissa_bits) - 1)
    return std::bit_cast<float>(sign | 0x7fc00000u);
  const uint32_t rebias = 127 - uint32_t(format.bias());
  if (exponent != 0 || rebias == 0) return std::bit_cast<float>(sign | (exponent + rebias) << 23 | aligned);
  // Subnormal here, normal in f32: an integer times the format's smallest step.
  const float step = std::bit_cast<float>((rebias + 1 - uint32_t(format.mantissa_bits)) << 23);
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(mantissa) * step));
}

// The magnitude significand * 2^exponent, rounded once, to nearest even, into a format of at most 16 bits;
// with `sign` set above it. Overflow gives infinity, or NaN where the format has none.
constexpr uint32_t round_to_format(bool sign, uint64_t significand, int exponent, FloatFormat format) {
  const uint32_t sign_bit = uint32_t(sign) << (format.exponent_bits + format.mantissa_bits);
  if (significand == 0) return sign_bit;
  const int least_exponent = 1 - format.bias();  // of normal numbers; subnormals share it
  const int own_exponent = 63 - std::countl_zero(significand) + exponent;
  const int target = own_exponent > least_exponent ? own_exponent : least_exponent;
  const int drop = target - format.mantissa_bits - exponent;  // low bits to round away; may be negative
  uint64_t kept = 0;                                          // in steps of 2^(target - mantissa_bits)
  if (drop <= 0) {
    kept = significand << -drop;  // at most mantissa_bits + 1 bits by the choice of `target`
  } else if (drop < 64) {
    const uint64_t half = uint64_t(1) << (drop - 1);
    const uint64_t rest = significand & (2 * half - 1);
    kept = significand >> drop;
    kept += rest > half || (rest == half && (kept & 1));
  } else if (drop == 64) {
    kept = significand > uint64_t(1) << 63;  // more than half a step
  }
  // A normal number's leading bit, or a carry out of rounding, adds one to the exponent field, as it should.
  const uint64_t magnitude = (uint64_t(target - least_exponent) << format.mantissa_bits) + kept;
  const uint64_t infinity = ((uint64_t(1) << format.exponent_bits) - 1) << format.mantissa_bits;
  const uint64_t overflow = format.has_infinity ? infinity : infinity | ((1u << format.mantissa_bits) - 1);
  return sign_bit | uint32_t(magnitude < overflow ? magnitude : overflow);
}

// Nearest-even rounding of a number into a format of at most 16 bits, once; an f32 is exact as f64. Overflow
// gives infinity, or NaN where the format has none; NaN gives the quiet NaN with the sign kept.
constexpr uint32_t encode_float(double value, FloatFormat format) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const bool sign = bits >> 63;
  const int exponent = int(bits >> 52 & 0x7ff);
  const uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  if (exponent == 0x7ff && mantissa != 0) {
    const uint32_t quiet =
        format.has_infinity ? 1u << (format.mantissa_bits - 1) : (1u << format.mantissa_bits) - 1;
    const uint32_t exponent_field = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
    return uint32_t(sign) << (format.exponent_bits + format.mantissa_bits) | exponent_field | quiet;
  }
  if (exponent == 0x7ff) return round_to_format(sign, 1, 0x7ff, format);  // beyond every format's range
  if (exponent == 0) return round_to_format(sign, mantissa, -1074, format);
  return round_to_format(sign, mantissa | uint64_t(1) << 52, exponent - 1075, format);
}
constexpr uint32_t encode_integer(int64_t value, FloatFormat format) {
  return round_to_format(value < 0, value < 0 ? 0 - uint64_t(value) : uint64_t(value), 0, format);
}

#define HEDDLE_SMALL_FLOAT(Name, Bits, type)                                                              \
  struct Name {                                                                                           \
    Bits bits = 0;                                                                                        \
    constexpr Name() = default;                                                                           \
    constexpr explicit Name(double value) : bits(Bits(encode_float(value, float_format(DType::type)))) {} \
    static constexpr Name from_bits(Bits bits) {                                                          \
      Name result;                                                                                        \
      result.bits = bits;                                                                                 \
      return result;                                                                                      \
    }                                                                                                     \
    constexpr explicit operator float() const {                                                           \
      return decode_float(bits, float_format(DType::type));                                               \
    }                                                                                                     \
    constexpr explicit operator double() const {                                                          \
      return double(float(*this));                                                                        \
    }                                                                                                     \
    friend constexpr bool operator==(Name, Name) = default; /* of bits */                                 \
  };
HEDDLE_SMALL_FLOAT(F8E4M3, uint8_t, f8e4m3)
HEDDLE_SMALL_FLOAT(F8E5M2, uint8_t, f8e5m2)
HEDDLE_SMALL_FLOAT(F16, uint16_t, f16)
HEDDLE_SMALL_FLOAT(BF16, uint16_t, bf16)
#undef HEDDLE_SMALL_FLOAT

// The names kernels use.
using i1 = bool;
using i8 = int8_t;
using i32 = int32_t;
using i64 = int64_t;
using f8e4m3 = F8E4M3;
using f8e5m2 = F8E5M2;
using f16 = F16;
using bf16 = BF16;
using f32 = float;
using f64 = double;

// The DType of a C++ element type; no member `value` for any other type.
template <class T>
struct DTypeOf {};
#define HEDDLE_ROW(name, storage, bits, kind)   \
  template <>                                   \
  struct DTypeOf<storage> {                     \
    static constexpr DType value = DType::name; \
  };
HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
template <class T>
struct DTypeOf<const T> : DTypeOf<T> {};

template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace heddle
