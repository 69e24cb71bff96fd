// How many words of tiles a kernel keeps alive at once.
#include "codegen/machine/pressure.h"

#include <doctest/doctest.h>

#include <string>

#include "codegen/ir/parse.h"

using heddle::codegen::live_words;
using heddle::ir::parse;

TEST_CASE("a tile counts from the op that makes it to the last that takes tiles whole") {
  // The narrow one only until it is widened; the wide one until the last use, and the maximum beside it;
  // lanes in between not at all.
  CHECK(live_words(*parse(R"(kernel @k(%0: view<bf16, 1>, %1: view<f32, 1>) dims(d0 = 1024) {
  %2 = constant 0 : i64
  %3 = load_view %0, %2 {fill = 0} : tile<bf16, d0>
  %4 = cast %3 : tile<f32, d0>
  %5 = reduce %4 {kind = max, axis = 0} : tile<f32, 1>
  %6 = broadcast %5 : tile<f32, d0>
  %7 = sub %4, %6 : tile<f32, d0>
  %8 = mul %7, %7 : tile<f32, d0>
  %9 = add %8, %7 : tile<f32, d0>
  store_view %1, %9, %2
}
)")) == 1024 + 1);
}

TEST_CASE("tiles that are alive together add up; a narrow lane takes a word too") {
  CHECK(live_words(*parse(R"(kernel @k(%0: view<bf16, 1>, %1: view<bf16, 1>) dims(d0 = 1024) {
  %2 = constant 0 : i64
  %3 = load_view %0, %2 {fill = 0} : tile<bf16, d0>
  %4 = load_view %1, %2 {fill = 0} : tile<bf16, d0>
  %5 = add %3, %4 : tile<bf16, d0>
  store_view %0, %3, %2
  store_view %1, %5, %2
}
)")) == 2048);
}

TEST_CASE("what a loop uses of the tiles around it lives as long as the loop") {
  CHECK(live_words(*parse(R"(kernel @k(%0: view<f32, 1>, %1: view<f32, 1>) dims(d0 = 1024) {
  %2 = constant 0 : i64
  %3 = constant 8 : i64
  %4 = constant 1 : i64
  %5 = load_view %0, %2 {fill = 0} : tile<f32, d0>
  %6 = constant 0 : tile<f32, d0>
  %7 = for_loop %2, %3, %4, %6 {cuttable = 0} : tile<f32, d0> {
  ^(%8: i64, %9: tile<f32, d0>)
    %10 = add %9, %5 : tile<f32, d0>
    %11 = load_view %1, %8 {fill = 0} : tile<f32, d0>
    %12 = add %10, %11 : tile<f32, d0>
    yield %12
  }
  store_view %1, %7, %2
}
)")) == 2048 + 1024);
}

TEST_CASE("a root and its operand are alive together, a quotient takes its dividend's place") {
  const char* const text = R"(kernel @k(%0: view<f32, 1>, %1: view<f32, 1>) dims(d0 = 1024) {
  %2 = constant 0 : i64
  %3 = load_view %0, %2 {fill = 0} : tile<f32, d0>
  %4 = OP : tile<f32, d0>
  store_view %1, %4, %2
}
)";
  const auto words = [&](const std::string& op) {
    std::string with_op = text;
    return live_words(*parse(with_op.replace(with_op.find("OP"), 2, op)));
  };
  CHECK(words("sqrt %3") == 2048);
  CHECK(words("div %3, %3") == 1024);
  CHECK(words("add %3, %3") == 1024);
}
