// What the elementwise ops mean, against exact arithmetic written plainly: integers in 128 bits, floats in
// long double with the rest that it drops. Compiled code must give the same bits.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <functional>
#include <random>
#include <vector>

#include "codegen/ir/evaluate.h"
#include "tests/support/lane_program.h"
#include "tests/support/reference.h"

using namespace heddle;
using heddle::ir::Lane;
using heddle::ir::Opcode;
using test::Real;
using test::value_of;

namespace {

__extension__ using Wide = __int128;

uint64_t width_mask(DType type) {
  return ~uint64_t(0) >> (64 - bit_width(type));
}

bool is_nan(DType type, Lane lane) {
  return is_any_float(type) && std::isnan(value_of(type, lane));
}

std::vector<Lane> evaluated(Opcode code, DType type, DType result,
                            const std::vector<std::vector<Lane>>& operands) {
  std::vector<Lane> lanes(operands[0].size());
  std::vector<const Lane*> pointers;
  for (const auto& operand : operands) pointers.push_back(operand.data());
  ir::evaluate(code, type, result, pointers.data(), lanes.data(), int64_t(lanes.size()));
  return lanes;
}

// The first lane that is not what it should be; empty when all are right.
std::string wrong_lane(const std::vector<std::vector<Lane>>& operands, const std::vector<Lane>& found,
                       const std::function<bool(size_t)>& right) {
  for (size_t i = 0; i < found.size(); ++i)
    if (!right(i)) {
      std::string text = fmt::format("lane {}:", i);
      for (const auto& operand : operands) text += fmt::format(" {:#x}", operand[i]);
      return text + fmt::format(" give {:#x}", found[i]);
    }
  return {};
}

// All of `ops` on `operands`, evaluated and compiled, are the same but for the bits of NaN.
void check_compiled(DType type, const std::vector<std::vector<Lane>>& operands,
                    const std::vector<Opcode>& ops) {
  std::vector<test::LaneOp> programs;
  std::vector<std::vector<Lane>> expected;
  for (const Opcode code : ops) {
    const ir::OpInfo& row = ir::info(code);
    test::LaneOp op{.op = row.name, .operands = {}, .result = row.boolean_result ? DType::i1 : type};
    for (int i = 0; i < row.max_operands; ++i) op.operands.push_back(i);
    expected.push_back(
        evaluated(code, type, op.result, {operands.begin(), operands.begin() + row.max_operands}));
    programs.push_back(std::move(op));
  }
  const std::vector<DType> types(operands.size(), type);
  for (const codegen::host::Cpu* cpu : test::best_and_plainest_cpu()) {
    const auto found = test::run_compiled(types, operands, programs, *cpu);
    for (size_t k = 0; k < programs.size(); ++k) {
      const DType result = programs[k].result;
      INFO(fmt::format("{} of {} on {}", programs[k].op, to_string(type), cpu->name));
      CHECK(wrong_lane(operands, found[k], [&](size_t i) {
              return found[k][i] == expected[k][i] ||
                     (is_nan(result, found[k][i]) && is_nan(result, expected[k][i]));
            }) == "");
    }
  }
}

const std::vector<Opcode> kIntegerOps = {
    Opcode::add,     Opcode::sub,     Opcode::mul, Opcode::div, Opcode::rem, Opcode::max, Opcode::min,
    Opcode::bit_and, Opcode::bit_xor, Opcode::shl, Opcode::shr, Opcode::lt,  Opcode::ge,  Opcode::eq};

// In exact arithmetic, then cut to the width.
Wide integer_meaning(Opcode code, Wide a, Wide b, int width) {
  const Wide modulus = Wide(1) << width;
  const Wide count = b < 0 ? b + modulus : b;  // a shift's, unsigned
  switch (code) {
    case Opcode::add: return a + b;
    case Opcode::sub: return a - b;
    case Opcode::mul: return a * b;
    case Opcode::div: return b == 0 ? Wide(-1) : a / b;
    case Opcode::rem: return b == 0 ? a : a % b;
    case Opcode::max: return a > b ? a : b;
    case Opcode::min: return a < b ? a : b;
    case Opcode::bit_and: return a & b;
    case Opcode::bit_xor: return a ^ b;
    case Opcode::shl: return count >= width ? Wide(0) : a * (Wide(1) << int(count));
    case Opcode::shr: {
      Wide result = a;  // floor(a / 2^count)
      for (Wide i = 0; i < count && i < width; ++i) result = (result - (result & 1)) / 2;
      return result;
    }
    case Opcode::lt: return a < b;
    case Opcode::ge: return a >= b;
    default: return a == b;
  }
}

std::vector<std::vector<Lane>> integer_pairs(DType type) {
  std::vector<Lane> numbers;
  const uint64_t mask = width_mask(type);
  if (type == DType::i8) {
    for (Lane bits = 0; bits < 256; ++bits) numbers.push_back(bits);
  } else {
    std::mt19937_64 random(3);
    const uint64_t least = uint64_t(1) << (bit_width(type) - 1), width = uint64_t(bit_width(type));
    for (const uint64_t edge :
         {uint64_t(0), uint64_t(7), width, least, least >> 1, uint64_t(1) << 32, uint64_t(1) << 31})
      for (const uint64_t off : {uint64_t(0), uint64_t(1), ~uint64_t(0)}) {
        numbers.push_back((edge + off) & mask);
        numbers.push_back((0 - edge - off) & mask);
      }
    for (int i = 0; i < 50; ++i) numbers.push_back((random() >> random() % 64) & mask);
  }
  std::vector<std::vector<Lane>> pairs(2);
  for (const Lane a : numbers)
    for (const Lane b : numbers) pairs[0].push_back(a), pairs[1].push_back(b);
  return pairs;
}

// Zeros, subnormals, ones, the largest, infinities, NaN; both signs.
std::vector<Lane> special_floats(DType type) {
  const test::ReferenceFormat format = test::reference_format(type);
  const Lane one = Lane((1 << (format.exponent_bits - 1)) - 1) << format.mantissa_bits;
  const Lane implicit = Lane(1) << format.mantissa_bits;
  const Lane infinity = ((Lane(1) << format.exponent_bits) - 1) << format.mantissa_bits;
  std::vector<Lane> result;
  for (const Lane bits :
       {Lane(0), Lane(1), Lane(2), Lane(3), implicit - 1, implicit, implicit + 1, one - 1, one, one + 1,
        one + implicit, one + implicit / 2, infinity - 1, infinity, infinity + implicit / 2})
    for (const Lane sign : {Lane(0), Lane(1) << (bit_width(type) - 1)}) result.push_back(bits | sign);
  return result;
}

// Three operands: all specials with all specials, then random numbers. Half of those have few bits in a * b
// and a c far away, which is where a tie of the product is broken by c alone.
std::vector<std::vector<Lane>> float_triples(DType type, int count) {
  std::mt19937_64 random(11);
  std::vector<std::vector<Lane>> triples(3);
  const std::vector<Lane> special = special_floats(type);
  for (const Lane a : special)
    for (const Lane b : special) {
      triples[0].push_back(a), triples[1].push_back(b),
          triples[2].push_back(special[random() % special.size()]);
    }
  const int m = test::reference_format(type).mantissa_bits;
  const int exponents = 1 << test::reference_format(type).exponent_bits;
  const auto number = [&](uint64_t mantissa, int reach) {
    const int middle = exponents / 2 - 1;
    const int exponent =
        std::clamp(middle + int(random() % unsigned(2 * reach + 1)) - reach, 0, exponents - 2);
    return ((random() & 1) << (bit_width(type) - 1)) | Lane(exponent) << m |
           (mantissa & ((Lane(1) << m) - 1));
  };
  for (int i = 0; i < count; ++i) {
    const bool tie = i % 2;
    const int keep = tie ? m / 2 : 0;  // zeros at the end
    triples[0].push_back(number(random() >> keep << keep, tie ? exponents / 8 : exponents / 2));
    triples[1].push_back(number(random() >> keep << keep, tie ? 2 : exponents / 2));
    triples[2].push_back(number(tie && i % 4 == 1 ? 0 : random(), exponents / 2));
  }
  return triples;
}

// An exact result as a long double and what that lacks.
struct Exact {
  Real value, rest;
};

Exact exact_sum(Real a, Real b) {
  const Real sum = a + b, part = sum - a;
  const Real rest = (a - (sum - part)) + (b - part);
  return {sum, std::isfinite(sum) ? rest : 0};
}

// Of f16, bf16 and f32 operands: their product is exact in long double.
Exact exact(Opcode code, Real a, Real b, Real c) {
  switch (code) {
    case Opcode::add: return exact_sum(a, b);
    case Opcode::sub: return exact_sum(a, -b);
    case Opcode::mul: return {a * b, 0};
    case Opcode::fma: return exact_sum(a * b, c);
    case Opcode::div: {
      const Real quotient = a / b;
      if (!std::isfinite(quotient) || quotient == 0 || std::isinf(b)) return {quotient, 0};
      const Real remainder = std::fma(-quotient, b, a);
      return {quotient, b < 0 ? -remainder : remainder};
    }
    default: {
      const Real root = std::sqrt(a);
      return {root, std::isfinite(root) ? std::fma(-root, root, a) : 0};
    }
  }
}

constexpr DType kArithmeticFloats[] = {DType::f16, DType::bf16, DType::f32};

}  // namespace

TEST_CASE("integer operations wrap, divide toward zero, and never trap") {
  for (const DType type : {DType::i8, DType::i32, DType::i64}) {
    const auto pairs = integer_pairs(type);
    for (const Opcode code : kIntegerOps) {
      const bool boolean = ir::info(code).boolean_result;
      INFO(fmt::format("{} of {}", ir::info(code).name, to_string(type)));
      const std::vector<Lane> found = evaluated(code, type, boolean ? DType::i1 : type, pairs);
      CHECK(wrong_lane(pairs, found, [&](size_t i) {
              const Wide a = Wide(value_of(type, pairs[0][i])), b = Wide(value_of(type, pairs[1][i]));
              return found[i] == (uint64_t(integer_meaning(code, a, b, bit_width(type))) & width_mask(type));
            }) == "");
    }
    check_compiled(type, pairs, kIntegerOps);
    check_compiled(type, {pairs[0]}, {Opcode::neg, Opcode::abs, Opcode::bit_not});
  }
}

TEST_CASE("the corners of integer arithmetic that docs/language.md names") {
  const auto i32 = [](Opcode code, int32_t a, int32_t b) {
    const Lane lanes[] = {uint32_t(a), uint32_t(b)};
    return int32_t(uint32_t(ir::evaluate(code, DType::i32, DType::i32, lanes)));
  };
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  CHECK(i32(Opcode::div, -7, 2) == -3);
  CHECK(i32(Opcode::rem, -7, 2) == -1);
  CHECK(i32(Opcode::div, 5, 0) == -1);
  CHECK(i32(Opcode::rem, 5, 0) == 5);
  CHECK(i32(Opcode::div, kLeast, -1) == kLeast);
  CHECK(i32(Opcode::rem, kLeast, -1) == 0);
  CHECK(i32(Opcode::shl, 1, 31) == kLeast);
  CHECK(i32(Opcode::shl, 1, 32) == 0);
  CHECK(i32(Opcode::shl, 1, -1) == 0);
  CHECK(i32(Opcode::shr, -8, 1) == -4);
  CHECK(i32(Opcode::shr, -8, 32) == -1);
  CHECK(i32(Opcode::shr, 8, -1) == 0);
}

TEST_CASE("f16, bf16 and f32 operations round once, fma too") {
  for (const DType type : kArithmeticFloats) {
    const auto triples = float_triples(type, 10000);
    for (const Opcode code : {Opcode::add, Opcode::sub, Opcode::mul, Opcode::div, Opcode::fma}) {
      INFO(fmt::format("{} of {}", ir::info(code).name, to_string(type)));
      const std::vector<std::vector<Lane>> operands(triples.begin(),
                                                    triples.begin() + (code == Opcode::fma ? 3 : 2));
      const std::vector<Lane> found = evaluated(code, type, type, operands);
      CHECK(wrong_lane(operands, found, [&](size_t i) {
              const Exact due = exact(code, value_of(type, triples[0][i]), value_of(type, triples[1][i]),
                                      value_of(type, triples[2][i]));
              return test::holds(type, found[i], test::rounded(type, due.value, due.rest));
            }) == "");
    }
    check_compiled(type, triples,
                   {Opcode::add, Opcode::sub, Opcode::mul, Opcode::div, Opcode::fma, Opcode::max, Opcode::min,
                    Opcode::lt, Opcode::le, Opcode::gt, Opcode::ge, Opcode::eq, Opcode::ne});
  }
}

TEST_CASE("fma of f16 and bf16 breaks a tie by what f32 would drop") {
  const auto fma = [](DType type, double a, double b, double c) {
    Lane lanes[3];
    const double numbers[] = {a, b, c};
    for (int i = 0; i < 3; ++i) lanes[i] = ir::lane_of_payload(type, std::bit_cast<int64_t>(numbers[i]));
    return value_of(type, ir::evaluate(Opcode::fma, type, type, lanes));
  };
  // 57 * 37 = 2109 and 47 * 45 = 2115 lie halfway between two numbers of f16, 37 * 7 = 259 between two of
  // bf16.
  CHECK(fma(DType::f16, 57, 37, 0) == 2108);
  CHECK(fma(DType::f16, 57, 37, 0x1p-24) == 2110);
  CHECK(fma(DType::f16, 47, 45, 0) == 2116);
  CHECK(fma(DType::f16, 47, 45, -0x1p-24) == 2114);
  CHECK(fma(DType::bf16, 37, 7, 0) == 260);
  CHECK(fma(DType::bf16, 37, 7, -0x1p-133) == 258);
  CHECK(fma(DType::bf16, 0x1p120, 0x1p120, -INFINITY) == -INFINITY);
  CHECK(std::isnan(fma(DType::bf16, 0, INFINITY, 1)));
}

TEST_CASE("sqrt, floor and rint of every f16 and bf16, and of a sample of f32") {
  for (const DType type : kArithmeticFloats) {
    std::vector<std::vector<Lane>> numbers(1);
    if (type == DType::f32)
      numbers[0] = float_triples(type, 20000)[0];
    else
      for (Lane bits = 0; bits < 0x10000; ++bits) numbers[0].push_back(bits);
    const std::vector<Lane> root = evaluated(Opcode::sqrt, type, type, numbers);
    const std::vector<Lane> down = evaluated(Opcode::floor, type, type, numbers);
    const std::vector<Lane> near = evaluated(Opcode::rint, type, type, numbers);
    INFO(fmt::format("{}", to_string(type)));
    CHECK(wrong_lane(numbers, root, [&](size_t i) {
            const Exact due = exact(Opcode::sqrt, value_of(type, numbers[0][i]), 0, 0);
            return test::holds(type, root[i], test::rounded(type, due.value, due.rest));
          }) == "");
    CHECK(wrong_lane(numbers, down, [&](size_t i) {
            return test::holds(type, down[i], std::floor(value_of(type, numbers[0][i])));
          }) == "");
    CHECK(wrong_lane(numbers, near, [&](size_t i) {
            return test::holds(type, near[i], std::rint(value_of(type, numbers[0][i])));
          }) == "");
    check_compiled(type, numbers, {Opcode::sqrt, Opcode::floor, Opcode::rint, Opcode::neg, Opcode::abs});
  }
}

TEST_CASE("max and min hand NaN on and order the zeros; comparisons are false on NaN; -x flips every sign") {
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    INFO(fmt::format("{}", to_string(type)));
    const std::vector<Lane> special = special_floats(type);
    const Lane sign = Lane(1) << (bit_width(type) - 1);
    std::vector<std::vector<Lane>> pairs(2);
    for (const Lane a : special)
      for (const Lane b : special) pairs[0].push_back(a), pairs[1].push_back(b);
    const auto all = [&](Opcode code, bool boolean, const std::function<bool(size_t, Lane)>& right) {
      INFO(fmt::format("{}", ir::info(code).name));
      const auto found = evaluated(code, type, boolean ? DType::i1 : type, pairs);
      CHECK(wrong_lane(pairs, found, [&](size_t i) { return right(i, found[i]); }) == "");
    };
    const auto a = [&](size_t i) { return value_of(type, pairs[0][i]); };
    const auto b = [&](size_t i) { return value_of(type, pairs[1][i]); };
    // As the order -0 < +0 has it.
    const auto below = [](Real x, Real y) {
      return x < y || (x == y && std::signbit(x) && !std::signbit(y));
    };
    const auto either_nan = [&](size_t i) { return std::isnan(a(i)) || std::isnan(b(i)); };
    all(Opcode::max, false, [&](size_t i, Lane lane) {
      return test::holds(type, lane, either_nan(i) ? test::kRealNaN : below(a(i), b(i)) ? b(i) : a(i));
    });
    all(Opcode::min, false, [&](size_t i, Lane lane) {
      return test::holds(type, lane, either_nan(i) ? test::kRealNaN : below(a(i), b(i)) ? a(i) : b(i));
    });
    all(Opcode::lt, true, [&](size_t i, Lane lane) { return lane == (!either_nan(i) && a(i) < b(i)); });
    all(Opcode::ge, true, [&](size_t i, Lane lane) { return lane == (!either_nan(i) && a(i) >= b(i)); });
    all(Opcode::eq, true, [&](size_t i, Lane lane) { return lane == (!either_nan(i) && a(i) == b(i)); });
    all(Opcode::ne, true, [&](size_t i, Lane lane) { return lane == (either_nan(i) || a(i) != b(i)); });
    for (const Lane bits : special) {
      if (is_nan(type, bits)) continue;  // whose bits a processor's arithmetic may change
      CHECK(ir::evaluate(Opcode::neg, type, type, &bits) == (bits ^ sign));
      CHECK(ir::evaluate(Opcode::abs, type, type, &bits) == (bits & ~sign));
    }
    check_compiled(type, pairs, {Opcode::max, Opcode::min, Opcode::lt, Opcode::ge, Opcode::eq, Opcode::ne});
  }
}

TEST_CASE("f64 operations, compiled for each processor, are those of C++") {
  check_compiled(DType::f64, float_triples(DType::f64, 4000),
                 {Opcode::add, Opcode::sub, Opcode::mul, Opcode::div, Opcode::fma, Opcode::sqrt,
                  Opcode::floor, Opcode::rint});
  const Lane lanes[] = {std::bit_cast<uint64_t>(1 + 0x1p-30), std::bit_cast<uint64_t>(1 - 0x1p-30),
                        std::bit_cast<uint64_t>(-1.0)};
  CHECK(ir::evaluate(Opcode::fma, DType::f64, DType::f64, lanes) == std::bit_cast<uint64_t>(-0x1p-60));
}
