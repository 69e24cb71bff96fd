// Printed functions read back as themselves, and what can't be read is refused with its line.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "codegen/ir/builder.h"
#include "codegen/ir/error.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"

using namespace heddle;
using namespace heddle::ir;

namespace {

std::string complaint(std::string_view text) {
  try {
    parse(text);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::parse);
    return error.message();
  }
  return "no error";
}

// A kernel with `line` on line 2.
std::string with_line(std::string_view line) {
  return "kernel @k(%0: i64, %1: view<f32, 2>) dims(d0 = 8) {\n" + std::string(line) + "\n}\n";
}

constexpr std::string_view kEverything =
    R"(kernel @"two words\x0a"(%0: view<bf16, 2> const unit(1) aligned, %1: f32, %2: ptr<f32> const, %3: i1, %4: ptr<f32> aligned) dims(d0 = 16, d1 = 24) {
  %5 = constant d0 : i64
  %6 = constant -0 : tile<f32, d0, d1>
  %7, %8 = tile_id %5, %5 {d0, 3} : i64, i64
  %9 = variable %6 : var<f32, d0, d1>
  for_loop %7, %5, %8 {cuttable = 1} @ "dir/a \"b\".cpp":12 {
  ^(%10: i64)
    %11 = load_view %0, %10, %10 {fill = 0} : tile<bf16, d0, d1> @ "c.cpp":4294967295
    %12 = cast %11 : tile<f32, d0, d1>
    %13 = reduce %12 {kind = max, axis = 1} : tile<f32, d0, 1>
    yield
  }
  %14 = if_else %3 : f32 {
    yield %1
  } {
    %15 = exp %1 : f32
    yield %15
  }
  %16, %17 = while_loop %14, %5 : f32, i64 {
  ^(%18: f32 @ "v.cpp":3, %19: i64)
    %20 = constant true : i1
    yield %20, %18, %19
  } {
  ^(%21: f32, %22: i64)
    yield %21, %22
  }
  %23 = arange : tile<i64, d0>
  %24 = broadcast %2 : tile<ptr<f32>, d0>
  %25 = pointer_add %24, %23 : tile<ptr<f32>, d0>
  %26 = load %25 : tile<f32, d0>
  store %4, %16
}
)";

}  // namespace

TEST_CASE("a function that uses every part of the grammar prints as it was written") {
  const auto function = parse(kEverything);
  CHECK(print(*function, {.locations = true}) == kEverything);
  CHECK(function->name == "two words\n");
  const std::string plain = print(*function);
  CHECK(plain.find('@', 8) == std::string::npos);
  CHECK(print(*parse(plain)) == plain);
}

TEST_CASE("constants read back bit for bit, in every element type") {
  const auto round_trip = [](DType type, int64_t payload) {
    const std::string text = print_constant(type, {.value = payload});
    const std::string type_name = heddle::to_string(type);
    const auto function = parse("kernel @k() { %0 = constant " + text + " : " + type_name + " }");
    return function->body.ops[0]->attribute(0);
  };
  for (const DType type : {DType::f8e4m3, DType::f8e5m2, DType::f16, DType::bf16}) {
    const FloatFormat format = float_format(type);
    for (uint32_t bits = 0; bits < (1u << bit_width(type)); ++bits) {
      const double value = decode_float(bits, format);
      // A small float's NaN keeps its sign alone.
      const int64_t payload = normalise_payload(type, constant_payload(type, value));
      const int64_t back = round_trip(type, payload);
      if (back != payload) FAIL(heddle::to_string(type), " bits ", bits, ": ", value);
    }
  }
  for (const double value :
       {0.0, -0.0, 0.1, 1e300, -1e-300, 5e-324, 1.0 / 3, double(1.0f / 3), 1e-45, 3.4e38}) {
    CHECK(round_trip(DType::f64, constant_payload(DType::f64, value)) == constant_payload(DType::f64, value));
    const int64_t narrow = constant_payload(DType::f32, double(float(value)));
    CHECK(round_trip(DType::f32, narrow) == narrow);
  }
  for (const int64_t value : {INT64_MIN, int64_t(-1), int64_t(0), INT64_MAX})
    CHECK(round_trip(DType::i64, value) == value);
  CHECK(print_constant(DType::i8, {.value = 300}) == "44");
  CHECK(print_constant(DType::f32, {.value = constant_payload(DType::f32, 0.1)}) == "0.1");
  CHECK(print_constant(DType::bf16, {.value = constant_payload(DType::bf16, 0.1)}) == "0.100097656");
  CHECK(print_constant(DType::f32, {.value = constant_payload(DType::f32, 1e300)}) == "inf");
}

TEST_CASE("a result's type may be left out where it follows") {
  const auto function = parse(with_line("%2 = add %0, %0  %3 = view_extent %1 {axis = 0}"));
  CHECK(function->body.ops[1]->result()->type == Type::scalar(DType::i64));
  CHECK(complaint(with_line("%2 = load_view %1, %0, %0 {fill = 0}")) ==
        "line 3: expected ':' and the type of the result, found '}'");
}

TEST_CASE("what breaks the grammar is refused with its line and what was expected") {
  CHECK(complaint("") == "line 1: expected 'kernel', found the end of the text");
  CHECK(complaint("kernel @k(\n%0 f32) {}") == "line 2: expected ':', found 'f32'");
  CHECK(complaint("kernel @k(%0: f31) {}") == "line 1: expected an element type, found 'f31'");
  CHECK(complaint("kernel @k(%0: f32) dims(d1 = 3) {}") == "line 1: expected 'd0', found 'd1'");
  CHECK(complaint("kernel @k() {\n// nothing\n") ==
        "line 3: expected an operation or '}', found the end of the text");
  CHECK(complaint(with_line("%2 = ad %0, %0")) == "line 2: expected an operation, found 'ad'");
  CHECK(complaint(with_line("%2 = add %0, %9")) == "line 2: %9 is not defined here");
  CHECK(complaint(with_line("%0 = add %0, %0")) == "line 2: %0 is defined twice");
  CHECK(complaint(with_line("%2 = view_extent %1 {axes = 0}")) == "line 2: expected 'axis', found 'axes'");
  CHECK(complaint(with_line("%2 = constant 1.5 : i64")) == "line 2: '1.5' is no constant of type i64");
  CHECK(complaint(with_line("%2 = constant 300 : i8")) == "line 2: '300' is no constant of type i8");
  CHECK(complaint(with_line("%2 = constant infinity : f32")) ==
        "line 2: 'infinity' is no constant of type f32");
  CHECK(complaint(with_line("%2 = arange : tile<i64, d1>")) ==
        "line 2: expected one of the 1 dims of the header, found 'd1'");
  CHECK(complaint(with_line("%2 = arange : tile<i64, 0>")).find("extents are positive") != std::string::npos);
  CHECK(complaint(with_line("%2 = constant 0 : tile<f32, 65536, 65536>")).find("2^31 lanes") !=
        std::string::npos);
  CHECK(complaint(with_line("%2 = ?")) == "line 2: '?' begins no token");
  CHECK(complaint("kernel @\"k") == "line 1: a string lacks its closing quote");
}

TEST_CASE("what breaks a rule of an op or of structure is refused with its line") {
  CHECK(complaint(with_line("%2 = sqrt %0 : i64")) == "line 2: sqrt is not defined for i64");
  CHECK(complaint(with_line("%2 = add %0, %0 : f32")) == "line 2: add gives i64, not f32");
  CHECK(complaint(with_line("for_loop %0, %0, %0 {cuttable = 0} {\n^(%2: i64)\n}")) ==
        "line 2: a region of for_loop does not end in yield");
  CHECK(complaint(with_line("for_loop %0, %0, %0 {cuttable = 0} {\n^(%2: i64)\nyield %2\n}")) ==
        "line 2: for_loop has 1 yielded states, not 0");
  CHECK(complaint(with_line("for_loop %0, %0, %0 {cuttable = 0} {\n^(%2: i64)\nyield\n}\n%3 = add %2, %2")) ==
        "line 6: %2 is not defined here");
  CHECK(complaint(with_line("\n\nyield")) == "line 4: yield stands where no region ends");
  CHECK(complaint(with_line("%2 = work_param {index = 5} : i64")) ==
        "line 2: work_param is not defined for ()");
  CHECK(complaint(with_line("%2 = work_param {index = -1} : i64")) ==
        "line 2: work_param is not defined for ()");
  for (const char* type : {"tile<ptr<i64>, 4>", "shared<i64, 4>", "view<i64, 1>", "tile<i32, 4>", "i64"})
    CHECK(complaint(with_line(fmt::format("%2 = arange : {}", type))) == "line 2: arange gives tile<i64, D>");
  CHECK(complaint(
            "kernel @k(%0: ptr<f32>, %1: f32) {\n%2 = variable %1 : var<f32>\nwrite_variable %2, %0\n}") ==
        "line 3: var<f32> can't hold ptr<f32>");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "if_else %0 {";
  CHECK(complaint(with_line(deep)).find("regions nest more than") != std::string::npos);
}

TEST_CASE("a function that uses a value outside its scope still prints") {
  Function function;
  function.name = "broken";
  Value* stray = function.new_value(Type::scalar(DType::f32));
  Builder build(function, function.body);
  build.value(Opcode::neg, {stray});
  CHECK(print(function) == "kernel @broken() {\n  %0 = neg %? : f32\n}\n");
}
