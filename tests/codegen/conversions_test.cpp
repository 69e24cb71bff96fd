// Every conversion between element types, against the formats' definitions: exhaustive from types of at most
// 16 bits, else every exponent with the mantissas where rounding turns, each type's limits, and random
// patterns.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <random>
#include <vector>

#include "codegen/ir/evaluate.h"
#include "tests/support/lane_program.h"
#include "tests/support/reference.h"

using namespace heddle;
using heddle::ir::Lane;
using heddle::ir::Opcode;
using test::Real;

namespace {

constexpr DType kTypes[] = {
#define HEDDLE_ROW(name, storage, bits, kind) DType::name,
    HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
};

uint64_t width_mask(DType type) {
  return ~uint64_t(0) >> (64 - bit_width(type));
}

// Mantissas (or integers) of `bits` bits about which some rounding turns: for every place k, a half there,
// exactly and with the least more or less, below random higher bits.
std::vector<uint64_t> turning_points(int bits, std::mt19937_64& random) {
  const uint64_t mask = ~uint64_t(0) >> (64 - bits);
  std::vector<uint64_t> result{0, 1, 2, mask, mask - 1, mask >> 1, (mask >> 1) + 1, (mask >> 1) + 2};
  for (int k = 0; k < bits; ++k)
    for (const uint64_t high : {~uint64_t(0), random()}) {
      const uint64_t half = uint64_t(1) << k;
      const uint64_t base = k == 63 ? 0 : high << (k + 1);
      for (const uint64_t low : {half, half | 1, half - 1}) result.push_back((base | low) & mask);
    }
  return result;
}

std::vector<Lane> patterns(DType type) {
  std::vector<Lane> result;
  if (bit_width(type) <= 16) {
    for (Lane bits = 0; bits <= width_mask(type); ++bits) result.push_back(bits);
    return result;
  }
  std::mt19937_64 random(7);
  const Lane mask = width_mask(type);
  for (int i = 0; i < 20000; ++i) result.push_back(random() & mask);
  if (is_integer(type)) {
    for (int length = 1; length <= bit_width(type); ++length)
      for (const uint64_t point : turning_points(length, random))
        for (const uint64_t number : {point, 0 - point, (uint64_t(1) << (length - 1)) | point}) {
          result.push_back(number & mask);
          result.push_back((0 - number) & mask);
        }
    return result;
  }
  const int mantissa_bits = type == DType::f32 ? 23 : 52, exponents = type == DType::f32 ? 256 : 2048;
  const Lane sign = Lane(1) << (bit_width(type) - 1);
  for (int exponent = 0; exponent < exponents; ++exponent) {
    // Of f64, those that narrower types and integers reach get all mantissas.
    const int power = exponent - exponents / 2 + 1;
    const bool within = type == DType::f32 || (power > -160 && power < 135);
    std::vector<uint64_t> mantissas = turning_points(mantissa_bits, random);
    if (!within) mantissas.resize(8);
    for (const uint64_t mantissa : mantissas) {
      const Lane bits = Lane(exponent) << mantissa_bits | mantissa;
      result.push_back(bits);
      result.push_back(bits | sign);
    }
  }
  // The neighbourhood of every integer type's limits.
  for (const double limit :
       {0x1p7, 0x1p31, 0x1p63, 127.0, 0x1p31 - 1, 127.5, 128.5, 129.0, 0x1p31 - 0.5, 0x1p31 + 1}) {
    const Lane bits =
        type == DType::f32 ? std::bit_cast<uint32_t>(float(limit)) : std::bit_cast<uint64_t>(limit);
    for (int step = -3; step <= 3; ++step) {
      result.push_back(bits + uint64_t(step));
      result.push_back((bits + uint64_t(step)) | sign);
    }
  }
  return result;
}

bool converts_right(DType from, DType to, Lane in, Lane out) {
  if (out & ~width_mask(to)) return false;  // bits above the element's own
  const Real value = test::value_of(from, in);
  if (to == DType::i1) return out == (std::isnan(value) || value != 0);
  if (is_any_float(to)) return test::holds(to, out, test::rounded(to, value));
  if (!is_any_float(from)) return out == (uint64_t(int64_t(value)) & width_mask(to));
  const Real limit = std::ldexp(Real(1), bit_width(to) - 1);
  const Real whole = std::isnan(value) ? 0 : std::min(std::max(std::trunc(value), -limit), limit - 1);
  return test::value_of(to, out) == whole;
}

bool is_nan(DType type, Lane lane) {
  return is_any_float(type) && std::isnan(test::value_of(type, lane));
}

}  // namespace

TEST_CASE("each pair of element types converts as its formats say, evaluated and compiled") {
  for (const DType from : kTypes) {
    const std::vector<Lane> in = patterns(from);
    std::vector<test::LaneOp> casts;
    std::vector<std::vector<Lane>> expected;
    for (const DType to : kTypes) {
      INFO(fmt::format("{} to {}", to_string(from), to_string(to)));
      std::vector<Lane> out(in.size());
      const Lane* operand = in.data();
      ir::evaluate(Opcode::cast, from, to, &operand, out.data(), int64_t(in.size()));
      std::string wrong;
      for (size_t i = 0; i < in.size() && wrong.empty(); ++i)
        if (!converts_right(from, to, in[i], out[i])) wrong = fmt::format("{:#x} gives {:#x}", in[i], out[i]);
      CHECK(wrong == "");
      if (from == to) continue;
      casts.push_back({.op = "cast", .operands = {0}, .result = to});
      expected.push_back(std::move(out));
    }
    for (const codegen::host::Cpu* cpu : test::best_and_plainest_cpu()) {
      const auto found = test::run_compiled({from}, {in}, casts, *cpu);
      for (size_t k = 0; k < casts.size(); ++k) {
        const DType to = casts[k].result;
        INFO(fmt::format("{} to {} on {}", to_string(from), to_string(to), cpu->name));
        std::string wrong;
        for (size_t i = 0; i < in.size() && wrong.empty(); ++i)
          if (found[k][i] != expected[k][i] && !(is_nan(to, found[k][i]) && is_nan(to, expected[k][i])))
            wrong = fmt::format("{:#x} gives {:#x}, not {:#x}", in[i], found[k][i], expected[k][i]);
        CHECK(wrong == "");
      }
    }
  }
}

TEST_CASE("conversions of host values are those of kernels") {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float half = float(f16::from_bits(uint16_t(bits))), brain = float(bf16::from_bits(uint16_t(bits)));
    const bool same = (Real(half) == test::value_of(DType::f16, bits) || std::isnan(half)) &&
                      (Real(brain) == test::value_of(DType::bf16, bits) || std::isnan(brain));
    if (!same) FAIL_CHECK("pattern ", bits);
  }
  CHECK(f16(65519.99).bits == 0x7bff);
  CHECK(f16(65520.0).bits == 0x7c00);
  CHECK(f8e4m3(464.0).bits == 0x7e);  // halfway to the number that e4m3 has no room for: even
  CHECK(f8e4m3(464.1).bits == 0x7f);  // beyond: NaN
  CHECK(f8e5m2(61439.0).bits == 0x7b);
  CHECK(f8e5m2(61440.0).bits == 0x7c);
}

TEST_CASE("a number is rounded once on its way: no detour by f32 or f64") {
  const auto cast = [](DType from, DType to, Lane in) { return ir::evaluate(Opcode::cast, from, to, &in); };
  // 1 + 2^-11 + 2^-40 is above the halfway point of f16; f32 would drop the last bit and the tie would go
  // down.
  CHECK(cast(DType::f64, DType::f16, std::bit_cast<uint64_t>(1 + 0x1p-11 + 0x1p-40)) == 0x3c01);
  CHECK(cast(DType::f64, DType::bf16, std::bit_cast<uint64_t>(1 + 0x1p-8 + 0x1p-40)) == 0x3f81);
  CHECK(cast(DType::f64, DType::f8e4m3, std::bit_cast<uint64_t>(1 + 0x1p-4 + 0x1p-40)) == 0x39);
  // 2^62 + 2^38 + 1: f64 would drop the 1.
  const Lane large = (Lane(1) << 62) + (Lane(1) << 38) + 1;
  CHECK(cast(DType::i64, DType::f32, large) == std::bit_cast<uint32_t>(0x1.000002p62f));
  CHECK(cast(DType::i64, DType::bf16, (Lane(1) << 62) + (Lane(1) << 54) + 1) == 0x5e81);
  CHECK(cast(DType::i32, DType::f16, 2049 * 16 + 1) == 0x7801);
}
