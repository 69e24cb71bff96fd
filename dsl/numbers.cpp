// Rounding of C++ numbers into element types, and what is said where a literal would need it.
#include "dsl/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "codegen/ir/ir.h"

namespace heddle::record {

namespace {

bool is_real(Number number) {
  return number.kind == Number::Kind::real;
}
bool above_int64(Number number) {
  return number.kind == Number::Kind::unsigned_integer && number.integer < 0;
}

double round_real(DType type, double value) {
  if (type == DType::f64) return value;
  if (type == DType::f32) return static_cast<double>(static_cast<float>(value));
  return static_cast<double>(decode_float(encode_float(value, float_format(type)), float_format(type)));
}

// Each rounds once.
double round_integer(DType type, int64_t value) {
  if (type == DType::f64) return static_cast<double>(value);
  if (type == DType::f32) return static_cast<double>(static_cast<float>(value));
  return static_cast<double>(decode_float(encode_integer(value, float_format(type)), float_format(type)));
}

double round_to_float(DType type, Number number) {
  if (is_real(number)) return round_real(type, number.real);
  if (!above_int64(number)) return round_integer(type, number.integer);
  // Half of it, its last bit kept as a sticky one, rounds alike; doubling is exact.
  const uint64_t value = static_cast<uint64_t>(number.integer);
  return 2 * round_integer(type, static_cast<int64_t>(value >> 1 | (value & 1)));
}

int64_t wrap(DType type, int64_t value) {
  switch (type) {
    case DType::i8: return static_cast<int8_t>(value);
    case DType::i32: return static_cast<int32_t>(value);
    default: return value;
  }
}

int64_t lowest(DType type) {
  return type == DType::i64 ? std::numeric_limits<int64_t>::min() : -(int64_t(1) << (bit_width(type) - 1));
}
int64_t highest(DType type) {
  return -(lowest(type) + 1);
}

int64_t saturate(DType type, double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(lowest(type))) return lowest(type);
  if (value >= -static_cast<double>(lowest(type))) return highest(type);
  const int64_t truncated = static_cast<int64_t>(value);
  return truncated > highest(type) ? highest(type) : truncated;
}

}  // namespace

int64_t rounded_payload(DType type, Number number) {
  if (type == DType::i1) return is_real(number) ? number.real != 0 : number.integer != 0;
  if (is_any_float(type)) return ir::constant_payload(type, round_to_float(type, number));
  return is_real(number) ? saturate(type, number.real) : wrap(type, number.integer);
}

bool holds(DType type, Number number) {
  if (type == DType::i1) return !is_real(number) && (number.integer == 0 || number.integer == 1);
  if (!is_any_float(type)) {
    if (!is_real(number)) return !above_int64(number) && wrap(type, number.integer) == number.integer;
    return number.real >= static_cast<double>(lowest(type)) &&
           number.real < -static_cast<double>(lowest(type)) && std::trunc(number.real) == number.real;
  }
  const double rounded = round_to_float(type, number);
  if (is_real(number)) return rounded == number.real || (std::isnan(rounded) && std::isnan(number.real));
  if (above_int64(number))
    return rounded < 0x1p64 && static_cast<uint64_t>(rounded) == static_cast<uint64_t>(number.integer);
  return rounded >= -0x1p63 && rounded < 0x1p63 && static_cast<int64_t>(rounded) == number.integer;
}

std::string to_string(Number number) {
  switch (number.kind) {
    case Number::Kind::real: return fmt::format("{}", number.real);
    case Number::Kind::signed_integer: return fmt::format("{}", number.integer);
    case Number::Kind::unsigned_integer: return fmt::format("{}", static_cast<uint64_t>(number.integer));
  }
  return "?";
}

std::string describe_misfit(DType type, Number number) {
  const char* name = heddle::to_string(type);
  const std::string text = to_string(number);
  if (!is_any_float(type))
    return fmt::format("{} does not fit {}, which holds integers from {} to {}", text, name, lowest(type),
                       highest(type));
  const double rounded = round_to_float(type, number);
  const bool plain_float = type == DType::f32 && is_real(number) && std::isfinite(rounded);
  return fmt::format(
      "{} is no {} number, and a literal beside a tile must be exact: write {}constant<{}>({}), which "
      "rounds to {:.9g}",
      text, name, plain_float ? fmt::format("{}f, or ", text) : std::string(), name, text, rounded);
}

}  // namespace heddle::record
