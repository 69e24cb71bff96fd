// Loads and stores take effect in program order, whatever memory their arguments share: a loaded tile is what
// memory held where the load stands, all of it, also while a store is overwriting that memory.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/ir/parse.h"
#include "codegen/passes/canonicalise.h"
#include "tests/support/host_check.h"

using namespace heddle;
using test::host_difference;
using test::HostArgument;

namespace {

// An argument over a buffer that others share.
HostArgument shared_view(std::vector<int64_t> extents, std::vector<int64_t> strides = {},
                         int64_t offset = 0) {
  return {.extents = std::move(extents), .strides = std::move(strides), .memory = 0, .offset = offset};
}
HostArgument shared_pointer(int64_t elements, int64_t offset = 0) {
  return {.extents = {elements}, .memory = 0, .offset = offset};
}

// The function as written, and as the passes leave it: they may not reorder either.
std::string difference(std::string_view text, const std::vector<HostArgument>& arguments) {
  if (std::string found = host_difference(text, arguments); !found.empty()) return found;
  const auto function = ir::parse(text);
  codegen::canonicalise(*function);
  return host_difference(*function, arguments);
}

}  // namespace

TEST_CASE("a tile is moved inside one buffer, by any distance") {
  constexpr std::string_view kText = R"(
kernel @move(%0: view<f32, 1> const unit(0), %1: view<f32, 1> unit(0), %2: i64, %3: i64) dims(d0 = 70) {
  %4 = load_view %0, %2 {fill = 0} : tile<f32, d0>
  %5 = add %4, %4
  store_view %1, %5, %3
})";
  for (const int64_t to : {40, 39, 41, 37, 43, 32, 48, 0, 80, 110})
    CHECK(host_difference(kText, {shared_view({160}), shared_view({160}), HostArgument::number(40),
                                  HostArgument::number(to)}) == "");
  // The two views begin apart; the tile is cut at the end of one, then of the other.
  for (const int64_t apart : {0, 1, 5, 8})
    for (const int64_t extent : {60, 75})
      CHECK(host_difference(kText, {shared_view({extent}), shared_view({90}, {}, apart),
                                    HostArgument::number(3), HostArgument::number(4)}) == "");
}

TEST_CASE("a tile is moved inside one buffer through pointers") {
  constexpr std::string_view kText = R"(
kernel @move(%0: ptr<f32> const, %1: ptr<f32>, %2: i64) dims(d0 = 45) {
  %3 = arange : tile<i64, d0>
  %4 = broadcast %2 : tile<i64, d0>
  %5 = lt %3, %4
  %6 = broadcast %0 : tile<ptr<f32>, d0>
  %7 = pointer_add %6, %3
  %8 = load %7, %5
  %9 = broadcast %1 : tile<ptr<f32>, d0>
  %10 = pointer_add %9, %3
  %11 = mul %8, %8
  store %10, %11, %5
})";
  for (const int64_t to : {20, 19, 21, 12, 29})
    CHECK(difference(kText, {shared_pointer(45, 20), shared_pointer(45, to), HostArgument::number(45)}) ==
          "");
  CHECK(difference(kText, {shared_pointer(40, 8), shared_pointer(40, 9), HostArgument::number(37)}) == "");
}

TEST_CASE("in place: reversed, transposed, strided") {
  constexpr std::string_view kReverse = R"(
kernel @reverse(%0: view<i32, 1> const, %1: view<i32, 1>) dims(d0 = 50) {
  %2 = constant 0 : i64
  %3 = load_view %0, %2 {fill = 0} : tile<i32, d0>
  store_view %1, %3, %2
})";
  CHECK(host_difference(kReverse, {shared_view({50}, {-1}), shared_view({50})}) == "");
  CHECK(host_difference(kReverse, {shared_view({47}, {-1}), shared_view({47})}) == "");
  CHECK(host_difference(kReverse, {shared_view({50}, {2}), shared_view({50}, {1})}) == "");
  CHECK(host_difference(kReverse, {shared_view({50}, {1}), shared_view({50}, {2})}) == "");
  CHECK(host_difference(kReverse, {shared_view({50}, {0}), shared_view({50}, {1})}) == "");
  CHECK(host_difference(kReverse, {shared_view({50}, {3}), shared_view({50}, {3})}) == "");

  constexpr std::string_view kTranspose = R"(
kernel @transpose(%0: view<f32, 2> unit(1)) dims(d0 = 21) {
  %1 = constant 0 : i64
  %2 = load_view %0, %1, %1 {fill = 0} : tile<f32, d0, d0>
  %3 = transpose %2
  store_view %0, %3, %1, %1
})";
  for (const int64_t extent : {21, 17, 24})
    CHECK(difference(kTranspose, {HostArgument::view({extent, extent})}) == "");

  // The same by two views, of which the kernel knows no stride.
  constexpr std::string_view kViews = R"(
kernel @views(%0: view<f32, 2> const, %1: view<f32, 2>) dims(d0 = 19, d1 = 23) {
  %2 = constant 0 : i64
  %3 = load_view %0, %2, %2 {fill = 0} : tile<f32, d0, d1>
  %4 = neg %3
  store_view %1, %4, %2, %2
})";
  CHECK(host_difference(kViews, {shared_view({19, 23}, {1, 23}), shared_view({19, 23}, {23, 1})}) == "");
  CHECK(host_difference(kViews, {shared_view({19, 23}), shared_view({19, 23})}) == "");
  CHECK(host_difference(kViews, {shared_view({18, 20}, {23, 1}), shared_view({19, 22}, {23, 1}, 24)}) == "");
  CHECK(host_difference(kViews, {shared_view({19, 23}, {23, -1}), shared_view({19, 23}, {-23, 1})}) == "");
  // Rows that overlap each other inside the view that is read, or written: all lanes of an element agree.
  CHECK(host_difference(kViews, {shared_view({19, 23}, {1, 1}), shared_view({19, 23}, {1, 1})}) == "");
  CHECK(host_difference(kViews, {shared_view({19, 23}, {0, 1}), shared_view({19, 23}, {0, 1})}) == "");
  CHECK(host_difference(kViews, {shared_view({19, 23}, {2, 0}), shared_view({19, 23}, {2, 0})}) == "");
  CHECK(host_difference(kViews, {shared_view({19, 23}, {1, 19}), shared_view({19, 23}, {1, 19})}) == "");
  CHECK(host_difference(kViews, {shared_view({19, 23}, {1, 1}), shared_view({19, 23})}) == "");
}

TEST_CASE("a row or column is read by every lane of the store that overwrites it") {
  constexpr std::string_view kText = R"(
kernel @spread(%0: view<f32, 2> unit(1)) dims(d0 = 9, d1 = 33) {
  %1 = constant 0 : i64
  %2 = constant 4 : i64
  %3 = load_view %0, %2, %1 {fill = 0} : tile<f32, 1, d1>
  %4 = load_view %0, %1, %2 {fill = 0} : tile<f32, d0, 1>
  %5 = load_view %0, %1, %1 {fill = 0} : tile<f32, d0, d1>
  %6 = broadcast %3 : tile<f32, d0, d1>
  %7 = broadcast %4 : tile<f32, d0, d1>
  %8 = fma %6, %7, %5
  store_view %0, %8, %1, %1
})";
  CHECK(difference(kText, {HostArgument::view({9, 33})}) == "");
  CHECK(difference(kText, {HostArgument::view({8, 30}, {40, 1})}) == "");
}

TEST_CASE("a stencil in place") {
  constexpr std::string_view kText = R"(
kernel @stencil(%0: view<f32, 1> unit(0)) dims(d0 = 16) {
  %1 = constant 0 : i64
  %2 = view_extent %0 {axis = 0} : i64
  %3 = constant d0 : i64
  for_loop %1, %2, %3 {cuttable = 0} {
  ^(%4: i64)
    %5 = constant 1 : i64
    %6 = sub %4, %5
    %7 = add %4, %5
    %8 = load_view %0, %6 {fill = 0} : tile<f32, d0>
    %9 = load_view %0, %4 {fill = 0} : tile<f32, d0>
    %10 = load_view %0, %7 {fill = 0} : tile<f32, d0>
    %11 = add %8, %9
    %12 = add %11, %10
    store_view %0, %12, %4
    yield
  }
})";
  for (const int64_t extent : {16, 31, 50, 64})
    CHECK(difference(kText, {HostArgument::view({extent})}) == "");
}

TEST_CASE("a value loaded before a store keeps what memory held") {
  // In a straight line, behind a branch that stores, and behind a loop that does; used more than once.
  constexpr std::string_view kText = R"(
kernel @before(%0: view<f32, 1> const unit(0), %1: view<f32, 1> unit(0), %2: view<f32, 1> unit(0), %3: i1) dims(d0 = 24) {
  %4 = constant 0 : i64
  %5 = load_view %0, %4 {fill = 0} : tile<f32, d0>
  %6 = constant 3 : f32
  %7 = broadcast %6 : tile<f32, d0>
  store_view %1, %7, %4
  %8 = load_view %0, %4 {fill = 0} : tile<f32, d0>
  %9 = sub %5, %8
  if_else %3 {
    store_view %1, %9, %4
    yield
  } {
    yield
  }
  %10 = load_view %0, %4 {fill = 0} : tile<f32, d0>
  %11 = constant 2 : i64
  %12 = constant 1 : i64
  %13 = for_loop %4, %11, %12, %5 {cuttable = 0} : tile<f32, d0> {
  ^(%14: i64, %15: tile<f32, d0>)
    %16 = load_view %0, %14 {fill = 0} : tile<f32, d0>
    %17 = add %15, %16
    %18 = fma %17, %8, %10
    store_view %1, %18, %14
    yield %17
  }
  %19 = mul %13, %10
  %20 = add %19, %5
  store_view %2, %20, %4
})";
  for (const int64_t branch : {0, 1})
    for (const int64_t apart : {0, 1, 9})
      CHECK(difference(kText, {shared_view({24}), shared_view({25}, {}, apart), HostArgument::view({24}),
                               HostArgument::number(branch)}) == "");
}

TEST_CASE("loop state that was loaded survives stores to where it came from") {
  constexpr std::string_view kText = R"(
kernel @shift(%0: view<i32, 1> unit(0), %1: view<i32, 1> unit(0)) dims(d0 = 8) {
  %2 = constant 0 : i64
  %3 = view_extent %0 {axis = 0} : i64
  %4 = constant d0 : i64
  %5 = load_view %0, %2 {fill = 0} : tile<i32, d0>
  %6 = for_loop %4, %3, %4, %5 {cuttable = 0} : tile<i32, d0> {
  ^(%7: i64, %8: tile<i32, d0>)
    %9 = load_view %0, %7 {fill = 0} : tile<i32, d0>
    store_view %0, %8, %7
    yield %9
  }
  store_view %1, %6, %2
})";
  for (const int64_t extent : {8, 16, 44})
    CHECK(difference(kText, {HostArgument::view({extent}), HostArgument::view({8})}) == "");
}

TEST_CASE("while: the test reads what the body stored") {
  constexpr std::string_view kText = R"(
kernel @drain(%0: view<i32, 1> unit(0), %1: view<i32, 1> unit(0)) dims(d0 = 12) {
  %2 = constant 0 : i64
  %3 = constant 0 : tile<i32, d0>
  %4 = while_loop %3 : tile<i32, d0> {
  ^(%5: tile<i32, d0>)
    %6 = load_view %0, %2 {fill = 0} : tile<i32, d0>
    %7 = reduce %6 {kind = sum, axis = 0}
    %8 = squeeze %7 {axis = 0}
    %9 = constant 0 : i32
    %10 = gt %8, %9
    %11 = add %5, %6
    yield %10, %11
  } {
  ^(%12: tile<i32, d0>)
    %13 = load_view %0, %2 {fill = 0} : tile<i32, d0>
    %14 = constant 1 : tile<i32, d0>
    %15 = sub %13, %14
    store_view %0, %15, %2
    yield %12
  }
  store_view %1, %4, %2
})";
  HostArgument small = HostArgument::view({12});
  small.values = {3, 1, 4, 1, 5, 9, 2, 6};
  CHECK(difference(kText, {small, HostArgument::view({12})}) == "");
}

TEST_CASE("addresses, offsets and masks read from the memory that the store overwrites") {
  constexpr std::string_view kPermute = R"(
kernel @permute(%0: ptr<i64>) dims(d0 = 20) {
  %1 = arange : tile<i64, d0>
  %2 = broadcast %0 : tile<ptr<i64>, d0>
  %3 = pointer_add %2, %1
  %4 = load %3
  %5 = pointer_add %2, %4
  %6 = load %5
  store %5, %1
  store %3, %6
})";
  HostArgument permutation = HostArgument::pointer(20);
  for (int64_t i = 0; i < 20; ++i) permutation.values.push_back(double(i * 7 % 20));
  CHECK(difference(kPermute, {permutation}) == "");

  constexpr std::string_view kScatter = R"(
kernel @scatter(%0: ptr<i64>) dims(d0 = 20) {
  %1 = arange : tile<i64, d0>
  %2 = broadcast %0 : tile<ptr<i64>, d0>
  %3 = pointer_add %2, %1
  %4 = load %3
  %5 = pointer_add %2, %4
  store %5, %1
})";
  CHECK(difference(kScatter, {permutation}) == "");

  constexpr std::string_view kMask = R"(
kernel @mask(%0: ptr<i8>) dims(d0 = 40) {
  %1 = arange : tile<i64, d0>
  %2 = broadcast %0 : tile<ptr<i8>, d0>
  %3 = pointer_add %2, %1
  %4 = load %3
  %5 = constant 1 : tile<i64, d0>
  %6 = pointer_add %3, %5
  %7 = constant 0 : tile<i8, d0>
  %8 = gt %4, %7
  %9 = neg %4
  store %6, %9, %8
})";
  CHECK(difference(kMask, {HostArgument::pointer(41)}) == "");
}

TEST_CASE("a dot whose operands and result share memory") {
  constexpr std::string_view kText = R"(
kernel @square(%0: view<f32, 2> unit(1)) dims(d0 = 18) {
  %1 = constant 0 : i64
  %2 = constant 3 : i64
  %3 = constant 1 : i64
  for_loop %1, %2, %3 {cuttable = 0} {
  ^(%4: i64)
    %5 = load_view %0, %1, %1 {fill = 0} : tile<f32, d0, d0>
    %6 = load_view %0, %4, %1 {fill = 0} : tile<f32, d0, d0>
    %7 = constant 0 : tile<f32, d0, d0>
    store_view %0, %7, %1, %4
    %8 = load_view %0, %1, %3 {fill = 0} : tile<f32, d0, d0>
    %9 = transpose %5
    %10 = dot %9, %6, %8
    store_view %0, %10, %1, %1
    yield
  }
})";
  HostArgument small = HostArgument::view({20, 20});
  small.values = {0.5, -1, 0.25, 2, 0, 1, -0.5};
  CHECK(difference(kText, {small}) == "");
}

TEST_CASE("scalars and reductions stand where they are written") {
  constexpr std::string_view kText = R"(
kernel @scalars(%0: view<f32, 1> unit(0), %1: ptr<f32>) dims(d0 = 13) {
  %2 = constant 0 : i64
  %3 = load %1
  %4 = load_view %0, %2 {fill = 0} : tile<f32, d0>
  %5 = reduce %4 {kind = max, axis = 0}
  %6 = broadcast %3 : tile<f32, d0>
  store_view %0, %6, %2
  %7 = load %1
  %8 = load_view %0, %2 {fill = 0} : tile<f32, d0>
  %9 = broadcast %5 : tile<f32, d0>
  %10 = add %8, %9
  %11 = add %10, %4
  store_view %0, %11, %2
  %12 = sub %3, %7
  store %1, %12
})";
  for (const int64_t at : {0, 5, 12})
    CHECK(difference(kText, {shared_view({13}), shared_pointer(1, at)}) == "");
}
