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

// Value of a bit pattern in a format of at most 16 bits. Exact.
constexpr float decode_float(uint32_t bits, FloatFormat format) {
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const uint32_t exponent_mask = (1u << format.exponent_bits) - 1;
  const uint32_t exponent = (bits >> format.mantissa_bits) & exponent_mask;
  const uint32_t sign = (bits >> (format.mantissa_bits + format.exponent_bits)) & 1u;
  const uint32_t all_ones = (1u << format.mantissa_bits) - 1;
  if (exponent == exponent_mask && (format.has_infinity || mantissa == all_ones)) {
    const uint32_t payload = format.has_infinity ? mantissa << (23 - format.mantissa_bits) : 0x400000u;
    return std::bit_cast<float>(sign << 31 | 0x7f800000u | payload | (payload ? 0x400000u : 0u));
  }
  // Scale by powers of two that f32 holds exactly: 2^(e - bias - mantissa_bits) * integer.
  const int unbiased = (exponent ? int(exponent) : 1) - format.bias() - format.mantissa_bits;
  const uint32_t significand = exponent ? mantissa | (1u << format.mantissa_bits) : mantissa;
  float value = float(significand);
  const float step = unbiased < 0 ? 0.5f : 2.0f;
  for (int i = 0; i < (unbiased < 0 ? -unbiased : unbiased); ++i) value *= step;
  return sign ? -value : value;
}

// Nearest-even rounding of an f32 into a format of at most 16 bits. Overflow gives infinity, or NaN where the
// format has none; NaN gives the quiet NaN with the sign kept.
constexpr uint32_t encode_float(float value, FloatFormat format) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 31) << (format.mantissa_bits + format.exponent_bits);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t exponent_mask = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
  const uint32_t nan = format.has_infinity ? exponent_mask | (1u << (format.mantissa_bits - 1))
                                           : exponent_mask | ((1u << format.mantissa_bits) - 1);
  if (magnitude > 0x7f800000u) return sign | nan;
  const uint32_t overflow = format.has_infinity ? exponent_mask : nan;
  if (magnitude == 0x7f800000u) return sign | overflow;
  const int shift = 23 - format.mantissa_bits;
  int exponent = int(magnitude >> 23) - 127 + format.bias();  // biased for the target
  uint64_t significand = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
  if (magnitude >> 23 == 0) exponent += 1;
  int drop = shift;  // mantissa bits to round away
  if (exponent <= 0) {
    drop += 1 - exponent;
    exponent = 0;
  }
  if (drop > 40) return sign;
  const uint64_t half = uint64_t(1) << (drop - 1 + (drop == 0));
  const uint64_t kept = significand >> drop;
  const uint64_t rest = significand & ((uint64_t(1) << drop) - 1);
  uint64_t rounded = kept;
  if (drop > 0) rounded += rest > half || (rest == half && (kept & 1));
  // `rounded` may carry into the exponent field: adding it does just that.
  const uint64_t result =
      exponent == 0 ? rounded : (uint64_t(exponent - 1) << format.mantissa_bits) + rounded;
  const uint64_t limit = format.has_infinity ? exponent_mask : nan;
  return sign | uint32_t(result >= limit ? overflow : result);
}

#define HEDDLE_SMALL_FLOAT(Name, Bits, type)                                                             \
  struct Name {                                                                                          \
    Bits bits = 0;                                                                                       \
    constexpr Name() = default;                                                                          \
    constexpr explicit Name(float value) : bits(Bits(encode_float(value, float_format(DType::type)))) {} \
    static constexpr Name from_bits(Bits bits) {                                                         \
      Name result;                                                                                       \
      result.bits = bits;                                                                                \
      return result;                                                                                     \
    }                                                                                                    \
    constexpr explicit operator float() const {                                                          \
      return decode_float(bits, float_format(DType::type));                                              \
    }                                                                                                    \
    friend constexpr bool operator==(Name, Name) = default; /* of bits */                                \
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
