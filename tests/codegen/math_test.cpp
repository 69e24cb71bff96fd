// exp, exp2, log, tanh, erf, sigmoid and sqrt as compiled and as interpreted, against the C library in long
// double: every f16 and bf16, a sample of f32, special values, and the worst arguments that docs/math.md
// names. tools/math_sweep tries all of f32.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "codegen/ir/error.h"
#include "codegen/ir/evaluate.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "codegen/passes/expand_math.h"
#include "tests/support/host_check.h"
#include "tests/support/lane_program.h"
#include "tests/support/reference.h"

using namespace heddle;
using heddle::ir::Lane;
using test::Real;
using test::value_of;

namespace {

struct Function {
  std::string name;
  Real (*exact)(Real);
};

const std::vector<Function> kFunctions = {
    {"exp", [](Real x) { return std::exp(x); }},
    {"exp2", [](Real x) { return std::exp2(x); }},
    {"expm1", [](Real x) { return std::expm1(x); }},
    {"log", [](Real x) { return std::log(x); }},
    {"log2", [](Real x) { return std::log2(x); }},
    {"log1p", [](Real x) { return std::log1p(x); }},
    {"sin", [](Real x) { return std::sin(x); }},
    {"cos", [](Real x) { return std::cos(x); }},
    {"tanh", [](Real x) { return std::tanh(x); }},
    {"erf", [](Real x) { return std::erf(x); }},
    {"sigmoid", [](Real x) { return 1 / (1 + std::exp(-x)); }},
    {"sqrt", [](Real x) { return std::sqrt(x); }},
    {"rsqrt", [](Real x) { return 1 / std::sqrt(x); }},
};
// Without an error.
const std::vector<Function> kExact = {
    {"floor", [](Real x) { return std::floor(x); }}, {"ceil", [](Real x) { return std::ceil(x); }},
    {"trunc", [](Real x) { return std::trunc(x); }}, {"round", [](Real x) { return std::round(x); }},
    {"rint", [](Real x) { return std::rint(x); }},
};

std::vector<test::LaneOp> all_functions(DType type) {
  std::vector<test::LaneOp> ops;
  for (const Function& function : kFunctions)
    ops.push_back({.op = function.name, .operands = {0}, .result = type});
  return ops;
}

// Results of all functions, one list each.
test::LaneLists run(DType type, const std::vector<Lane>& in, const codegen::host::Cpu& cpu) {
  return test::run_compiled({type}, {in}, all_functions(type), cpu);
}

// In units of the exact result's last place; infinite where one is NaN, infinite or a zero of a sign and the
// other, rounded, is not.
double error_in_places(DType type, Lane found, Real exact) {
  const Real value = value_of(type, found), due = test::rounded(type, exact);
  if (std::isnan(value) && std::isnan(due)) return 0;
  if (std::isnan(value) || std::isnan(due) || std::isinf(value) || std::isinf(due))
    return value == due ? 0 : HUGE_VAL;
  if ((value == 0 || exact == 0) && std::signbit(value) != std::signbit(exact)) return HUGE_VAL;
  if (exact == 0) return value == 0 ? 0 : HUGE_VAL;
  const test::ReferenceFormat format = test::reference_format(type);
  const int exponent = std::max(std::ilogb(exact), format.least_exponent);
  return double(std::fabs(value - exact) / std::ldexp(Real(1), exponent - format.mantissa_bits));
}

// A row of the table of docs/math.md.
struct Worst {
  std::string function;
  double error, argument;
};

std::vector<Worst> documented() {
  std::ifstream page(HEDDLE_SOURCE_DIR "/docs/math.md");
  std::vector<Worst> rows;
  for (std::string line; std::getline(page, line);) {
    char name[16];
    Worst row{};
    if (std::sscanf(line.c_str(), "| `%15[a-z0-9]` | %lf | `%la` |", name, &row.error, &row.argument) != 3)
      continue;
    row.function = name;
    rows.push_back(row);
  }
  return rows;
}

double bound(const std::string& function) {
  for (const Worst& row : documented())
    if (row.function == function) return row.error + 0.00005;  // the page has four decimals
  return 0;
}

Lane bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

}  // namespace

TEST_CASE("the worst arguments of docs/math.md give the errors it states") {
  const std::vector<Worst> rows = documented();
  CHECK(rows.size() == kFunctions.size());
  std::vector<Lane> in;
  for (const Worst& row : rows) in.push_back(bits_of(float(row.argument)));
  const auto found = run(DType::f32, in, codegen::host::this_cpu());
  for (size_t k = 0; k < kFunctions.size(); ++k) {
    const Function& function = kFunctions[k];
    const auto row = std::ranges::find(rows, function.name, &Worst::function);
    REQUIRE(row != rows.end());
    INFO(fmt::format("{} of {:a}", function.name, row->argument));
    CHECK(row->error <= 2);
    const Lane worst = found[k][size_t(row - rows.begin())];
    CHECK(std::fabs(error_in_places(DType::f32, worst, function.exact(row->argument)) - row->error) < 0.0001);
  }
}

TEST_CASE("a sample of f32 stays within the errors of docs/math.md, with the same bits on every processor") {
  std::mt19937 random(5);
  std::vector<Lane> in;
  for (uint32_t exponent = 0; exponent < 512; ++exponent) {  // with the sign
    const bool busy = (exponent & 255) > 100 && (exponent & 255) < 136;
    for (const uint32_t mantissa : {0u, 1u, 0x400000u, 0x7fffffu}) in.push_back(exponent << 23 | mantissa);
    for (int i = 0; i < (busy ? 400 : 20); ++i) in.push_back(exponent << 23 | (random() & 0x7fffff));
  }
  test::LaneLists first;
  for (const codegen::host::Cpu* cpu : test::best_and_plainest_cpu()) {
    auto found = run(DType::f32, in, *cpu);
    for (size_t k = 0; k < kFunctions.size(); ++k) {
      INFO(fmt::format("{} on {}", kFunctions[k].name, cpu->name));
      if (first.empty()) {
        const double limit = bound(kFunctions[k].name);
        std::string wrong;
        for (size_t i = 0; i < in.size() && wrong.empty(); ++i)
          if (const double error =
                  error_in_places(DType::f32, found[k][i], kFunctions[k].exact(value_of(DType::f32, in[i])));
              error > limit)
            wrong = fmt::format("{:#x} gives {:#x}, off by {}", in[i], found[k][i], error);
        CHECK(wrong == "");
        continue;
      }
      size_t differences = 0;
      for (size_t i = 0; i < in.size(); ++i)
        differences += found[k][i] != first[k][i] && !std::isnan(value_of(DType::f32, found[k][i]));
      CHECK(differences == 0);
    }
    if (first.empty()) first = std::move(found);
  }
}

TEST_CASE("rounding to whole numbers is exact, in every float") {
  std::mt19937_64 random(21);
  std::vector<test::LaneOp> ops;
  for (const DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const test::ReferenceFormat format = test::reference_format(type);
    std::vector<Lane> in;
    // Around every half from 0 to 8 and where halves end, of both signs; then anything.
    for (const double whole : {0.0, 1.0, 2.0, 3.0, 7.0, std::ldexp(1.0, format.mantissa_bits - 1),
                               std::ldexp(1.0, format.mantissa_bits), HUGE_VAL})
      for (const double part : {0.0, 0.5, 1.0})
        for (int step = -2; step <= 2; ++step)
          for (const bool negative : {false, true}) {
            const Lane half = ir::lane_of_payload(type, std::bit_cast<int64_t>(whole + part));
            if (step < 0 && whole + part == 0) continue;
            in.push_back((half + Lane(step)) | (Lane(negative) << (bit_width(type) - 1)));
          }
    for (int i = 0; i < 2000; ++i) in.push_back(random() >> (64 - bit_width(type)));
    ops.clear();
    for (const Function& function : kExact)
      ops.push_back({.op = function.name, .operands = {0}, .result = type});
    const auto interpreted = test::run_interpreted({type}, {in}, ops);
    for (const codegen::host::Cpu* cpu : test::best_and_plainest_cpu()) {
      const auto found = test::run_compiled({type}, {in}, ops, *cpu);
      for (size_t k = 0; k < kExact.size(); ++k) {
        INFO(fmt::format("{} of {} on {}", kExact[k].name, to_string(type), cpu->name));
        std::string wrong;
        for (size_t i = 0; i < in.size() && wrong.empty(); ++i) {
          const Real exact = kExact[k].exact(value_of(type, in[i]));
          for (const Lane lane : {found[k][i], interpreted[k][i]})
            if (error_in_places(type, lane, exact) != 0)
              wrong = fmt::format("{:#x} gives {:#x}", in[i], lane);
        }
        CHECK(wrong == "");
      }
    }
  }
}

TEST_CASE("rsqrt of f64 is within 1.5 of its last place") {
  std::mt19937_64 random(22);
  std::vector<Lane> in;
  for (int i = 0; i < 4000; ++i) in.push_back(random() >> 1);
  const auto found =
      test::run_compiled({DType::f64}, {in}, {{.op = "rsqrt", .operands = {0}, .result = DType::f64}},
                         codegen::host::this_cpu());
  for (size_t i = 0; i < in.size(); ++i)
    CHECK(error_in_places(DType::f64, found[0][i], 1 / std::sqrt(value_of(DType::f64, in[i]))) <= 1.5);
}

TEST_CASE("f64 is refused where a function has no polynomial for it") {
  try {
    ir::parse("kernel @k(%0: ptr<f64>, %1: f64) {\n  %2 = exp %1\n  store %0, %2\n}\n");
    CHECK_MESSAGE(false, "accepted");
  } catch (const Error& error) {
    CHECK(std::string(error.message())
              .find("exp of f64 is not available; cast to f32 and back where f32's precision is enough") !=
          std::string::npos);
  }
}

TEST_CASE("every f16 and bf16 is within 0.51 of its last place") {
  std::vector<Lane> in;
  for (Lane bits = 0; bits < 0x10000; ++bits) in.push_back(bits);
  for (const DType type : {DType::f16, DType::bf16}) {
    const auto found = run(type, in, codegen::host::this_cpu());
    for (size_t k = 0; k < kFunctions.size(); ++k) {
      INFO(fmt::format("{} of {}", kFunctions[k].name, to_string(type)));
      std::string wrong;
      for (size_t i = 0; i < in.size() && wrong.empty(); ++i)
        if (error_in_places(type, found[k][i], kFunctions[k].exact(value_of(type, in[i]))) > 0.51)
          wrong = fmt::format("{:#x} gives {:#x}", in[i], found[k][i]);
      CHECK(wrong == "");
    }
  }
}

TEST_CASE("special values: infinities, NaN, zeros, the ends of overflow and of underflow") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kLargest = std::numeric_limits<float>::max();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kTiny = 0x1p-149f;
  const std::map<std::string, std::vector<std::pair<float, float>>> cases = {
      {"exp",
       {{-kInfinity, 0.0f},
        {kInfinity, kInfinity},
        {kNaN, kNaN},
        {0.0f, 1.0f},
        {-0.0f, 1.0f},
        {kTiny, 1.0f},
        {0x1.62e42ep6f, 0x1.ffff08p127f},
        {0x1.62e430p6f, kInfinity},
        {-0x1.9fe368p6f, kTiny},
        {-0x1.9fe36ap6f, 0.0f},
        {-kLargest, 0.0f},
        {kLargest, kInfinity}}},
      {"exp2",
       {{-kInfinity, 0.0f},
        {kInfinity, kInfinity},
        {kNaN, kNaN},
        {0.0f, 1.0f},
        {-0.0f, 1.0f},
        {-149.0f, kTiny},
        {-150.0f, 0.0f},
        {-0x1.2bfffep7f, kTiny},
        {-127.0f, 0x1p-127f},
        {127.0f, 0x1p127f},
        {128.0f, kInfinity},
        {0x1.fffffep6f, 0x1.ffff4ep127f},
        {-kLargest, 0.0f},
        {kLargest, kInfinity}}},
      {"log",
       {{-kInfinity, kNaN},
        {kInfinity, kInfinity},
        {kNaN, kNaN},
        {0.0f, -kInfinity},
        {-0.0f, -kInfinity},
        {-kTiny, kNaN},
        {-1.0f, kNaN},
        {1.0f, 0.0f},
        {kTiny, -0x1.9d1da0p6f},
        {kLargest, 0x1.62e430p6f}}},
      {"tanh",
       {{-kInfinity, -1.0f},
        {kInfinity, 1.0f},
        {kNaN, kNaN},
        {0.0f, 0.0f},
        {-0.0f, -0.0f},
        {kTiny, kTiny},
        {-kTiny, -kTiny},
        {kLargest, 1.0f},
        {-10.0f, -1.0f}}},
      {"erf",
       {{-kInfinity, -1.0f},
        {kInfinity, 1.0f},
        {kNaN, kNaN},
        {0.0f, 0.0f},
        {-0.0f, -0.0f},
        {kTiny, kTiny},
        {-kTiny, -kTiny},
        {kLargest, 1.0f},
        {-4.0f, -1.0f}}},
      {"sigmoid",
       {{-kInfinity, 0.0f},
        {kInfinity, 1.0f},
        {kNaN, kNaN},
        {0.0f, 0.5f},
        {-0.0f, 0.5f},
        {kTiny, 0.5f},
        {-0x1.9fe368p6f, kTiny},
        {-0x1.9fe36ap6f, 0.0f},
        {-kLargest, 0.0f},
        {kLargest, 1.0f}}},
      {"expm1",
       {{-kInfinity, -1.0f},
        {kInfinity, kInfinity},
        {kNaN, kNaN},
        {0.0f, 0.0f},
        {-0.0f, -0.0f},
        {kTiny, kTiny},
        {-kTiny, -kTiny},
        {-kLargest, -1.0f},
        {0x1.62e42ep6f, 0x1.ffff08p127f},
        {0x1.62e430p6f, kInfinity},
        {kLargest, kInfinity}}},
      {"log2",
       {{-kInfinity, kNaN},
        {kInfinity, kInfinity},
        {kNaN, kNaN},
        {0.0f, -kInfinity},
        {-0.0f, -kInfinity},
        {-kTiny, kNaN},
        {1.0f, 0.0f},
        {2.0f, 1.0f},
        {0x1p-126f, -126.0f},
        {0x1p127f, 127.0f},
        {kTiny, -149.0f},
        {kLargest, 128.0f}}},
      {"log1p",
       {{-kInfinity, kNaN},
        {kInfinity, kInfinity},
        {kNaN, kNaN},
        {0.0f, 0.0f},
        {-0.0f, -0.0f},
        {kTiny, kTiny},
        {-kTiny, -kTiny},
        {-1.0f, -kInfinity},
        {-0x1.000002p0f, kNaN},
        {kLargest, 0x1.62e430p6f}}},
      {"sin",
       {{-kInfinity, kNaN},
        {kInfinity, kNaN},
        {kNaN, kNaN},
        {0.0f, 0.0f},
        {-0.0f, -0.0f},
        {kTiny, kTiny},
        {-kTiny, -kTiny}}},
      {"cos",
       {{-kInfinity, kNaN}, {kInfinity, kNaN}, {kNaN, kNaN}, {0.0f, 1.0f}, {-0.0f, 1.0f}, {kTiny, 1.0f}}},
      {"rsqrt",
       {{-kInfinity, kNaN},
        {kInfinity, 0.0f},
        {kNaN, kNaN},
        {0.0f, kInfinity},
        {-0.0f, -kInfinity},
        {-kTiny, kNaN},
        {4.0f, 0.5f},
        {0x1p-148f, 0x1p74f}}},
      {"sqrt",
       {{-kInfinity, kNaN},
        {kInfinity, kInfinity},
        {kNaN, kNaN},
        {0.0f, 0.0f},
        {-0.0f, -0.0f},
        {-kTiny, kNaN},
        {0x1p-148f, 0x1p-74f},
        {4.0f, 2.0f}}},
  };
  std::vector<Lane> in;
  for (const auto& [name, pairs] : cases)
    for (const auto& pair : pairs) in.push_back(bits_of(pair.first));
  for (const codegen::host::Cpu* cpu : test::best_and_plainest_cpu()) {
    const auto found = run(DType::f32, in, *cpu);
    for (size_t k = 0; k < kFunctions.size(); ++k)
      for (const auto& [x, due] : cases.at(kFunctions[k].name)) {
        const size_t at = size_t(std::ranges::find(in, bits_of(x)) - in.begin());
        INFO(fmt::format("{} of {:a} is {:a}", kFunctions[k].name, x, due));
        const float value = std::bit_cast<float>(uint32_t(found[k][at]));
        CHECK((std::isnan(due) ? std::isnan(value) : found[k][at] == bits_of(due)));
      }
  }
}

TEST_CASE("interpreted and compiled functions give the same bits") {
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    std::mt19937_64 random(9);
    std::vector<Lane> in;
    for (int i = 0; i < 3000; ++i) in.push_back(random() >> (64 - bit_width(type)));
    const auto expected = test::run_interpreted({type}, {in}, all_functions(type));
    const auto found = run(type, in, codegen::host::this_cpu());
    for (size_t k = 0; k < kFunctions.size(); ++k) {
      INFO(fmt::format("{} of {}", kFunctions[k].name, to_string(type)));
      size_t differences = 0;
      for (size_t i = 0; i < in.size(); ++i)
        differences += found[k][i] != expected[k][i] && !std::isnan(value_of(type, expected[k][i]));
      CHECK(differences == 0);
    }
  }
}

TEST_CASE("exponentials of a number less an upper bound of it are shorter, with the bits of the long form") {
  std::mt19937_64 random(12);
  for (const std::string name : {"exp", "exp2"})
    for (const std::string bound : {"max %3, %4", "max %4, %3", "reduce %3 {kind = max, axis = 0}"}) {
      INFO(name << " above " << bound);
      const std::string shape = bound[0] == 'r' ? "1" : "d0";
      const std::string text = fmt::format(R"(kernel @k(%0: view<f32, 1>, %1: view<f32, 1>) dims(d0 = 4096) {{
  %2 = constant 0 : i64
  %3 = load_view %0, %2 {{fill = 0}} : tile<f32, d0>
  %4 = constant -0.5 : tile<f32, d0>
  %5 = {} : tile<f32, {}>
  %6 = broadcast %5 : tile<f32, d0>
  %7 = sub %3, %6 : tile<f32, d0>
  %8 = {} %7 : tile<f32, d0>
  store_view %1, %8, %2
}}
)",
                                           bound, shape, name);
      auto in = test::HostArgument::view({4096});
      // Every exponent of the numbers below zero, and NaN; then those where results are subnormal.
      for (uint64_t i = 0; i < 2048; ++i) in.bits.push_back(0x80000000 + (i << 20) + random() % (1 << 20));
      for (uint64_t i = 0; i < 2048; ++i)
        in.bits.push_back(
            std::bit_cast<uint32_t>(-80.0f - float(i) * 0x1p-5f - 0x1p-16f * float(random() % 64)));
      if (shape == "1")  // NaN would be the bound
        for (uint64_t& bits : in.bits) bits = std::isnan(std::bit_cast<float>(uint32_t(bits))) ? 0 : bits;
      const auto plain = ir::parse(text), expanded = ir::parse(text);
      codegen::expand_math(*expanded);
      CHECK(ir::print(*expanded).find(name == "exp" ? "constant 89" : "constant 129") == std::string::npos);
      CHECK(test::interpreted_difference(*plain, *expanded, {in, test::HostArgument::view({4096})}) == "");
      CHECK(test::host_difference(*expanded, {in, test::HostArgument::view({4096})}) == "");
    }
}

TEST_CASE("an exponential of a difference that may be positive keeps its upper end") {
  const auto function = ir::parse(R"(kernel @k(%0: view<f32, 2>, %1: view<f32, 2>) dims(d0 = 16) {
  %2 = constant 0 : i64
  %3 = load_view %0, %2, %2 {fill = 0} : tile<f32, d0, d0>
  %4 = reduce %3 {kind = max, axis = 1} : tile<f32, d0, 1>
  %5 = transpose %4 : tile<f32, 1, d0>
  %6 = broadcast %5 : tile<f32, d0, d0>
  %7 = sub %3, %6 : tile<f32, d0, d0>
  %8 = exp %7 : tile<f32, d0, d0>
  store_view %1, %8, %2, %2
}
)");
  codegen::expand_math(*function);
  CHECK(ir::print(*function).find("constant 89") != std::string::npos);
}
