// The host target on whole kernels: the shapes that users write first.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <tuple>

#include "codegen/host/compile.h"
#include "codegen/ir/parse.h"
#include "tests/support/host_check.h"

using namespace heddle;
using test::host_difference;
using test::HostArgument;

TEST_CASE("a masked sum of two vectors") {
  constexpr std::string_view kText = R"(
kernel @add(%0: ptr<f32> const, %1: ptr<f32> const, %2: ptr<f32>, %3: i64) dims(d0 = 32) {
  %4 = work_param {index = 1} : i64
  %5 = arange : tile<i64, d0>
  %6 = broadcast %4 : tile<i64, d0>
  %7 = add %5, %6
  %8 = broadcast %3 : tile<i64, d0>
  %9 = lt %7, %8
  %10 = broadcast %0 : tile<ptr<f32>, d0>
  %11 = pointer_add %10, %7
  %12 = load %11, %9
  %13 = broadcast %1 : tile<ptr<f32>, d0>
  %14 = pointer_add %13, %7
  %15 = load %14, %9
  %16 = add %12, %15
  %17 = broadcast %2 : tile<ptr<f32>, d0>
  %18 = pointer_add %17, %7
  store %18, %16, %9
})";
  for (const int64_t count : {0, 1, 7, 8, 19, 31, 32})
    CHECK(host_difference(kText,
                          {HostArgument::pointer(count), HostArgument::pointer(count),
                           HostArgument::pointer(count), HostArgument::number(count)},
                          {.work = {1, 0, 1, 1, 1}}) == "");
}

TEST_CASE("rows scaled by their largest and their sum") {
  constexpr std::string_view kText = R"(
kernel @rows(%0: view<f32, 2> const unit(1), %1: view<f32, 2> unit(1)) dims(d0 = 3, d1 = 37) {
  %2 = constant 0 : i64
  %3 = constant -inf : f32
  %4 = load_view %0, %2, %2, %3 {fill = 1} : tile<f32, d0, d1>
  %5 = reduce %4 {kind = max, axis = 1}
  %6 = broadcast %5 : tile<f32, d0, d1>
  %7 = sub %4, %6
  %8 = mul %7, %7
  %9 = fma %8, %7, %8
  %10 = reduce %9 {kind = sum, axis = 1}
  %11 = broadcast %10 : tile<f32, d0, d1>
  %12 = div %9, %11
  store_view %1, %12, %2, %2
})";
  CHECK(host_difference(kText, {HostArgument::view({3, 37}), HostArgument::view({3, 37})}) == "");
  CHECK(host_difference(kText, {HostArgument::view({2, 30}), HostArgument::view({2, 31})}) == "");
  CHECK(host_difference(kText, {HostArgument::view({4, 40}), HostArgument::view({3, 38})}) == "");
}

TEST_CASE("a product of matrices, K in a loop") {
  constexpr std::string_view kText = R"(
kernel @product(%0: view<f32, 2> const unit(1), %1: view<f32, 2> const unit(1), %2: view<f32, 2> unit(1)) dims(d0 = 13, d1 = 40, d2 = 16) {
  %3 = constant 0 : i64
  %4 = view_extent %0 {axis = 1} : i64
  %5 = constant d2 : i64
  %6 = constant 0 : tile<f32, d0, d1>
  %7 = for_loop %3, %4, %5, %6 {cuttable = 1} : tile<f32, d0, d1> {
  ^(%8: i64, %9: tile<f32, d0, d1>)
    %10 = load_view %0, %3, %8 {fill = 0} : tile<f32, d0, d2>
    %11 = load_view %1, %8, %3 {fill = 0} : tile<f32, d2, d1>
    %12 = dot %10, %11, %9
    yield %12
  }
  store_view %2, %7, %3, %3
})";
  for (const int64_t k : {0, 1, 16, 50})
    CHECK(host_difference(
              kText, {HostArgument::view({13, k}), HostArgument::view({k, 40}), HostArgument::view({13, 40})},
              {.special_values = false}) == "");
  CHECK(host_difference(kText, {HostArgument::view({9, 33}), HostArgument::view({33, 21}),
                                HostArgument::view({9, 21})}) == "");
}

TEST_CASE("a product of matrices that are contiguous along either axis") {
  for (const char* type : {"f32", "f64", "bf16"})
    for (const bool whole : {false, true})
      for (const int orders : {1, 2, 3}) {
        if (std::string_view(type) != "f32" && (whole || orders != 3)) continue;
        const int a_axis = orders & 1 ? 0 : 1, b_axis = orders & 2 ? 0 : 1;
        const std::string text = fmt::format(
            R"(
kernel @product(%0: view<{0}, 2> const unit({1}), %1: view<{0}, 2> const unit({2}), %2: view<{3}, 2> unit(1)) dims(d0 = {4}, d1 = {5}, d2 = {6}) {{
  %3 = constant 0 : i64
  %4 = view_extent %0 {{axis = 1}} : i64
  %5 = constant d2 : i64
  %6 = constant 0 : tile<{3}, d0, d1>
  %7 = for_loop %3, %4, %5, %6 {{cuttable = 1}} : tile<{3}, d0, d1> {{
  ^(%8: i64, %9: tile<{3}, d0, d1>)
    %10 = load_view %0, %3, %8 {{fill = 0}} : tile<{0}, d0, d2>
    %11 = load_view %1, %8, %3 {{fill = 0}} : tile<{0}, d2, d1>
    %12 = add %10, %10
    %13 = dot %12, %11, %9
    yield %13
  }}
  store_view %2, %7, %3, %3
}})",
            type, a_axis, b_axis, std::string_view(type) == "f64" ? "f64" : "f32", whole ? 16 : 13,
            whole ? 32 : 43, whole ? 8 : 11);
        // Tiles wholly inside the views, and cut at their ends.
        for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{16, 48, 22}, {10, 29, 20}}) {
          const std::vector<int64_t> a_strides{a_axis ? k : 1, a_axis ? 1 : m};
          const std::vector<int64_t> b_strides{b_axis ? n : 1, b_axis ? 1 : k};
          CHECK(host_difference(text,
                                {HostArgument::view({m, k}, a_strides), HostArgument::view({k, n}, b_strides),
                                 HostArgument::view({m, n})},
                                {.second = false}) == "");
        }
      }
}

TEST_CASE("regular addresses that a loop uses again are no gathers") {
  constexpr std::string_view kText = R"(
kernel @touch(%0: ptr<f32>, %1: i64) dims(d0 = 64) {
  %2 = constant 0 : i64
  %3 = constant 3 : i64
  %4 = constant 1 : i64
  %5 = broadcast %0 : tile<ptr<f32>, d0>
  %6 = broadcast %1 : tile<i64, d0>
  %7 = arange : tile<i64, d0>
  %8 = add %6, %7
  %9 = pointer_add %5, %8
  for_loop %2, %3, %4 {cuttable = 0} {
  ^(%10: i64)
    %11 = load %9
    %12 = add %11, %11
    store %9, %12
    yield
  }
})";
  CHECK(host_difference(kText, {HostArgument::pointer(70), HostArgument::number(6)}) == "");
  const auto compiled =
      codegen::host::compile_for(*ir::parse(kText), codegen::host::this_cpu(), /*want_text=*/true);
  CHECK(compiled.llvm.find("insertelement") == std::string::npos);
  CHECK(compiled.llvm.find("extractelement") == std::string::npos);
}
