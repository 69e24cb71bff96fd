// Every op of the table on every element type it takes, compiled for several processors, gives the
// interpreter's bits: all combinations of values from a table of edges, all patterns of small types.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <random>

#include "codegen/ir/check.h"
#include "codegen/ir/evaluate.h"
#include "codegen/ir/parse.h"
#include "codegen/passes/expand_math.h"
#include "tests/support/host_check.h"

using namespace heddle;
using ir::Opcode;
using test::host_difference;
using test::HostArgument;

namespace {

constexpr DType kTypes[] = {
#define HEDDLE_ROW(name, ...) DType::name,
    HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
};

constexpr int64_t kExtent = 64;  // of a tile: whole vectors, whatever the processor

uint64_t ones(int bits) {
  return ~uint64_t(0) >> (64 - bits);
}

// Bits of values where rounding, saturating or wrapping changes its mind.
std::vector<uint64_t> edges(DType type) {
  const int width = bit_width(type);
  if (type == DType::i1) return {0, 1, 0x80};
  std::vector<uint64_t> list;
  if (is_integer(type)) {
    const uint64_t top = uint64_t(1) << (width - 1);
    for (const uint64_t bits :
         {uint64_t(0), uint64_t(1), uint64_t(2), uint64_t(3), uint64_t(7), uint64_t(width - 1),
          uint64_t(width), uint64_t(width + 1), uint64_t(100), top - 1, top - 2, top / 2, top, top + 1,
          top + 2, ~uint64_t(0), ~uint64_t(1), ~uint64_t(6)})
      list.push_back(bits & ones(width));
    return list;
  }
  auto number = [&](double value) {
    return uint64_t(ir::lane_of_payload(type, std::bit_cast<int64_t>(value)));
  };
  const FloatFormat format = type == DType::f32   ? FloatFormat{8, 23, true}
                             : type == DType::f64 ? FloatFormat{11, 52, true}
                                                  : float_format(type);
  const int m = format.mantissa_bits;
  const uint64_t infinity = ones(format.exponent_bits) << m;
  const uint64_t nan = infinity | uint64_t(1) << (m - 1) | 1;
  const uint64_t sign = uint64_t(1) << (width - 1), one = number(1);
  for (const uint64_t bits :
       {uint64_t(0), uint64_t(1), ones(m), uint64_t(1) << m, one - 1, one, one + 1, number(0.5), number(2.5),
        number(std::ldexp(1.5, m)), infinity - 1, infinity, nan})
    list.push_back(bits);
  for (const uint64_t bits : {uint64_t(0), uint64_t(1), one, number(1.5), infinity - 1, infinity, nan - 1})
    list.push_back(bits | sign);
  return list;
}

// What conversions find hard: halfway between neighbours of narrower types, the ends of their ranges; all
// patterns of types of up to 16 bits.
std::vector<uint64_t> conversion_values(DType type) {
  const int width = bit_width(type);
  std::vector<uint64_t> list;
  if (width <= 16) {
    for (uint64_t bits = 0; bits <= (type == DType::i1 ? 255 : ones(width)); ++bits) list.push_back(bits);
    return list;
  }
  list = edges(type);
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    uint64_t bits = random();
    if (is_integer(type)) bits = uint64_t(int64_t(bits) >> (i % 63));
    list.push_back(bits & ones(width));
  }
  auto number = [&](double value) {
    return uint64_t(ir::lane_of_payload(type, ir::constant_payload(type, value)));
  };
  // Significands halfway between neighbours of p bits, and a little to either side, at several exponents.
  for (const int p : {3, 4, 8, 11, 24, 53})
    for (const int exponent :
         {-26, -25, -24, -17, -16, -15, -14, -10, -9, -1, 0, 7, 8, 15, 16, 30, 31, 62, 63, 127})
      for (const int64_t odd : {1, 3}) {
        if (is_integer(type) && (exponent < 0 || exponent >= width - 1)) continue;
        const uint64_t bits = number(std::ldexp(1.0 + std::ldexp(double(odd), -p), exponent));
        for (const uint64_t near : {bits - 1, bits, bits + 1}) {
          list.push_back(near & ones(width));
          list.push_back((is_integer(type) ? uint64_t(0) - near : near | uint64_t(1) << (width - 1)) &
                         ones(width));
        }
      }
  // Exponents at which the small floats are subnormal or overflow.
  if (is_any_float(type))
    for (int i = 0; i < 500; ++i) {
      const double value = std::ldexp(double(int64_t(random())), int(random() % 60) - 63 - 30);
      list.push_back(number(value));
    }
  return list;
}

// A kernel that walks along arrays in tiles of whole vectors, without masks: little code, quickly compiled.
class Table {
 public:
  // All inputs of a table are equally many.
  int input(DType type, std::vector<uint64_t> bits) {
    while (bits.size() % kExtent) bits.push_back(bits[0]);
    length_ = int64_t(bits.size());
    const int addresses = pointers(type, true);
    arguments_.back().bits = std::move(bits);
    return line(fmt::format("load %{}", addresses));
  }
  int line(const std::string& text) {
    body_ += fmt::format("    %{} = {}\n", next_, text);
    return next_++;
  }
  void output(int value, DType type) {
    const int addresses = pointers(type, false);
    body_ += fmt::format("    store %{}, %{}\n", addresses, value);
  }
  std::string difference() const {
    const auto function = ir::parse(fmt::format(
        "kernel @table({}) dims(d0 = {}) {{\n"
        "  %901 = constant 0 : i64\n  %902 = constant {} : i64\n  %903 = constant d0 : i64\n"
        "  for_loop %901, %902, %903 {{cuttable = 0}} {{\n  ^(%900: i64)\n    %904 = arange : tile<i64, d0>\n"
        "    %905 = broadcast %900 : tile<i64, d0>\n    %906 = add %904, %905\n{}    yield\n  }}\n}}",
        parameters_, kExtent, length_, body_));
    if (codegen::has_math(*function)) codegen::expand_math(*function);
    return host_difference(*function, arguments_, {.second = false});
  }

 private:
  // A parameter of its own, and the addresses of a tile in it.
  int pointers(DType type, bool read_only) {
    const int number = int(arguments_.size());
    arguments_.push_back(HostArgument::pointer(length_));
    parameters_ += fmt::format("{}%{}: ptr<{}>{}", number ? ", " : "", number, to_string(type),
                               read_only ? " const" : "");
    const int base = line(fmt::format("broadcast %{} : tile<ptr<{}>, d0>", number, to_string(type)));
    return line(fmt::format("pointer_add %{}, %906", base));
  }

  std::string parameters_, body_;
  std::vector<HostArgument> arguments_;
  int64_t length_ = 0;
  int next_ = 1000;
};

// All triples of `values`: the i-th operand of each.
std::vector<uint64_t> triples(const std::vector<uint64_t>& values, int operand) {
  std::vector<uint64_t> list;
  for (const uint64_t a : values)
    for (const uint64_t b : values)
      for (const uint64_t c : values) list.push_back(operand == 0 ? a : operand == 1 ? b : c);
  return list;
}

bool is_expanded(Opcode code, DType type) {
  return ir::info(code).elementwise && ir::in_domain(ir::info(code).domain, type) &&
         !ir::can_evaluate(code, type);
}

}  // namespace

TEST_CASE("elementwise ops and select") {
  for (const DType type : kTypes) {
    CAPTURE(to_string(type));
    Table table;
    const std::vector<uint64_t> values = edges(type);
    int operands[3];
    for (int i = 0; i < 3; ++i) operands[i] = table.input(type, triples(values, i));
    for (int i = 0; i < ir::kOpcodeCount; ++i) {
      const Opcode code = Opcode(i);
      const ir::OpInfo& row = ir::info(code);
      if (!row.elementwise || !ir::in_domain(row.domain, type) || is_expanded(code, type)) continue;
      std::string text = row.name;
      for (int k = 0; k < row.max_operands; ++k) text += fmt::format("{} %{}", k ? "," : "", operands[k]);
      const int result = table.line(text);
      table.output(result, row.boolean_result ? DType::i1 : type);
      // As integers, so that a NaN's sign and payload count where they are stated.
      if ((type == DType::f32 || type == DType::f64) && (code == Opcode::neg || code == Opcode::abs)) {
        const DType bits = type == DType::f32 ? DType::i32 : DType::i64;
        table.output(table.line(fmt::format("bitcast %{} : tile<{}, d0>", result, to_string(bits))), bits);
      }
    }
    const int condition = table.line(fmt::format("cast %{} : tile<i1, d0>", operands[2]));
    table.output(table.line(fmt::format("select %{}, %{}, %{}", condition, operands[0], operands[1])), type);
    CHECK(table.difference() == "");
  }
}

TEST_CASE("functions that are expanded into other ops") {
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    CAPTURE(to_string(type));
    Table table;
    std::vector<uint64_t> values = edges(type);
    std::mt19937_64 random(3);
    for (int i = 0; i < 1000; ++i)
      values.push_back(uint64_t(ir::lane_of_payload(
          type, std::bit_cast<int64_t>(std::ldexp(double(int64_t(random())), int(random() % 20) - 70)))));
    const int operand = table.input(type, values);
    for (int i = 0; i < ir::kOpcodeCount; ++i)
      if (is_expanded(Opcode(i), type))
        table.output(table.line(fmt::format("{} %{}", ir::info(Opcode(i)).name, operand)), type);
    CHECK(table.difference() == "");
  }
}

TEST_CASE("casts and bitcasts between all types") {
  for (const DType from : kTypes) {
    CAPTURE(to_string(from));
    Table table;
    const int operand = table.input(from, conversion_values(from));
    for (const DType to : kTypes) {
      table.output(table.line(fmt::format("cast %{} : tile<{}, d0>", operand, to_string(to))), to);
      if (bit_width(from) == bit_width(to))
        table.output(table.line(fmt::format("bitcast %{} : tile<{}, d0>", operand, to_string(to))), to);
    }
    CHECK(table.difference() == "");
  }
}

TEST_CASE("constants and shapes of all types") {
  for (const DType type : kTypes) {
    CAPTURE(to_string(type));
    const std::string_view constant = is_any_float(type) ? "-1.5" : type == DType::i1 ? "true" : "-7";
    const std::string text = fmt::format(
        R"(
kernel @shapes(%0: view<{0}, 2> const, %1: view<{0}, 2>, %2: view<{0}, 3>, %3: view<i64, 1>, %4: {0}) dims(d0 = 5, d1 = 18) {{
  %5 = constant 0 : i64
  %6 = load_view %0, %5, %5, %4 {{fill = 1}} : tile<{0}, d0, d1>
  %7 = transpose %6
  store_view %1, %7, %5, %5
  %8 = load_view %0, %5, %5 {{fill = 0}} : tile<{0}, d0, 1>
  %9 = broadcast %8 : tile<{0}, d0, d1>
  %10 = expand %9 {{axis = 1}}
  %11 = squeeze %8 {{axis = 1}}
  %12 = expand %11 {{axis = 0}}
  %13 = broadcast %12 : tile<{0}, d1, d0>
  %14 = transpose %13
  %15 = expand %14 {{axis = 1}}
  %20 = arange : tile<i64, d1>
  %21 = constant 6 : tile<i64, d1>
  %22 = lt %20, %21
  %23 = expand %22 {{axis = 0}}
  %24 = expand %23 {{axis = 0}}
  %25 = broadcast %24 : tile<i1, d0, 1, d1>
  %16 = select %25, %10, %15
  %17 = constant {1} : tile<{0}, d0, 1, d1>
  store_view %2, %16, %5, %5, %5
  %18 = constant 1 : i64
  store_view %2, %17, %5, %18, %5
  store_view %3, %20, %5
}})",
        to_string(type), constant);
    for (const int64_t rows : {3, 5})
      CHECK(host_difference(
                text,
                {HostArgument::view({rows, 18}), HostArgument::view({18, rows}),
                 HostArgument::view({rows, 2, 17}), HostArgument::view({18}), HostArgument::number(1)},
                {.second = false}) == "");
  }
}

TEST_CASE("reductions of all kinds") {
  for (const DType type : kTypes) {
    if (!ir::in_domain(ir::Domain::number, type)) continue;
    CAPTURE(to_string(type));
    std::string parameters = fmt::format("%0: view<{}, 2> const", to_string(type)), body;
    std::vector<HostArgument> arguments{HostArgument::view({6, 20})};
    int value = 1000;
    for (const auto& [kind, axis] : {std::pair{"sum", 0}, {"product", 1}, {"max", 1}, {"min", 0}}) {
      parameters += fmt::format(", %{}: view<{}, 2>", arguments.size(), to_string(type));
      body += fmt::format("  %{} = reduce %902 {{kind = {}, axis = {}}}\n  store_view %{}, %{}, %901, %901\n",
                          value, kind, axis, arguments.size(), value);
      arguments.push_back(axis == 0 ? HostArgument::view({1, 20}) : HostArgument::view({6, 1}));
      ++value;
    }
    const std::string text = fmt::format(
        "kernel @reductions({}) dims(d0 = 6, d1 = 20) {{\n  %901 = constant 0 : i64\n"
        "  %902 = load_view %0, %901, %901 {{fill = 0}} : tile<{}, d0, d1>\n{}}}",
        parameters, to_string(type), body);
    for (const bool special : {false, true})
      CHECK(host_difference(text, arguments, {.special_values = special, .second = false}) == "");
  }
}

TEST_CASE("dots of all types, operands in any order") {
  for (const DType type : {DType::i8, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    CAPTURE(to_string(type));
    const std::string text = fmt::format(
        R"(
kernel @dots(%0: view<{0}, 2> const, %1: view<{0}, 2> const, %2: view<{1}, 2>) dims(d0 = 13, d1 = 21, d2 = 9) {{
  %3 = constant 0 : i64
  %4 = load_view %0, %3, %3 {{fill = 0}} : tile<{0}, d0, d2>
  %5 = load_view %1, %3, %3 {{fill = 0}} : tile<{0}, d2, d1>
  %6 = load_view %2, %3, %3 {{fill = 0}} : tile<{1}, d0, d1>
  %7 = dot %4, %5, %6
  store_view %2, %7, %3, %3
}})",
        to_string(type), to_string(ir::accumulator(type)));
    for (const bool special : {false, true})
      for (const int orders : {0, 1, 2, 3}) {
        const HostArgument a =
            orders & 1 ? HostArgument::view({13, 9}, {1, 13}) : HostArgument::view({13, 9});
        const HostArgument b = orders & 2 ? HostArgument::view({9, 21}, {1, 9}) : HostArgument::view({9, 21});
        CHECK(host_difference(text, {a, b, HostArgument::view({13, 21})},
                              {.special_values = special, .second = false}) == "");
      }
  }
}
