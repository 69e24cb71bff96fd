// A schedule changes a kernel's speed, never its results: what its dims bind, however they are named.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "dsl/heddle.h"

namespace heddle {
namespace {

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(COLS);

const Kernel sum_of_columns{"sum_of_columns", [](View<const f32, 2> a, View<f32, 1> c) {
                              auto [m] = tile_id<BM>(c);
                              auto x = load<BM, COLS>(a, {m, 0});
                              store(c, {m}, squeeze<1>(sum<1>(x)));
                            }};
const Kernel widen{"widen", [](View<const f32, 2> a, View<f32, 2> c) {
                     auto [m] = tile_id<BM>(c.extent(0));
                     store(c, {m, 0}, load<BM, COLS>(a, {m, 0}) + 1.0f);
                   }};
// Writes BN, whatever BM is.
const Kernel tell{"tell", [](View<f32, 1> c) {
                    auto [m] = tile_id<BM>(c);
                    store(c, {m}, squeeze<1>(sum<1>(full<f32, BM, BN>(1.0f))));
                  }};

std::string refusal_of_columns(Stream& stream, int64_t columns, int64_t tile) {
  std::vector<float> a(size_t(3 * columns), 1.0f), c(3);
  try {
    sum_of_columns.with({.dims = {BM = 2, COLS = tile}})(
        stream, TensorRef<const float, 2>(a.data(), {3, columns}), TensorRef<float, 1>(c.data(), {3}));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::schedule);
    CHECK(std::string(error.where().file) == __FILE__);
    CHECK(c == std::vector<float>(3, 0.0f));
    return error.message();
  }
  CHECK(c == std::vector<float>(3, float(columns)));
  return "(accepted)";
}

}  // namespace

TEST_CASE("a dim that must hold an axis is bound to its length or more") {
  for (Device device : {Device::cpu(), Device::interpreter()}) {
    Stream stream(device, 2);
    CHECK(refusal_of_columns(stream, 0, 1) == "(accepted)");
    CHECK(refusal_of_columns(stream, 64, 64) == "(accepted)");
    CHECK(refusal_of_columns(stream, 40, 64) == "(accepted)");
    CHECK(
        refusal_of_columns(stream, 65, 64) ==
        "kernel 'sum_of_columns': one tile of COLS must hold all of axis 1 of argument 0, which is 65 long, "
        "and COLS = 64; bind it to 65 or more, or give no schedule");
    CHECK(refusal_of_columns(stream, 300, 64) != "(accepted)");
  }
}

TEST_CASE("without a schedule such a dim holds the longest of its axes") {
  Stream stream(Device::cpu(), 2);
  std::vector<float> a(3 * 20, 1.0f), c(3 * 70, -1.0f);
  widen(stream, TensorRef<const float, 2>(a.data(), {3, 20}), TensorRef<float, 2>(c.data(), {3, 70}));
  for (size_t i = 0; i < c.size(); ++i) CHECK(c[i] == (i % 70 < 20 ? 2.0f : 1.0f));
}

TEST_CASE("the memory of a dim's name may be reused once the launch has returned") {
  Stream stream(Device::cpu(), 2);
  char first[] = "BM", second[] = "BN";
  std::vector<float> c(50);
  for (int round = 0; round < 4; ++round) {
    tell.with({.dims = {{.name = first, .value = 16}, {.name = second, .value = 32}}})(
        stream, TensorRef<float, 1>(c.data(), {50}));
    CHECK(c == std::vector<float>(50, std::strcmp(second, "BN") == 0 ? 32.0f : 16.0f));
    std::swap(first[1], second[1]);
  }
  const Schedule last = runtime::last_launch().schedule;
  first[0] = second[0] = 'x';
  CHECK(last.dims.find("BM")->value == 32);
  CHECK(last.dims.find("BN")->value == 16);
}

TEST_CASE("a dim without a name is refused") {
  Stream stream(Device::cpu(), 2);
  std::vector<float> c(50);
  for (int round = 0; round < 2; ++round) {
    try {
      tell.with({.dims = {BM = 16, {.name = nullptr, .value = 32}}})(stream,
                                                                     TensorRef<float, 1>(c.data(), {50}));
      CHECK_MESSAGE(false, "accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::schedule);
    }
    tell.with({.dims = {BM = 16, BN = 32}})(stream, TensorRef<float, 1>(c.data(), {50}));
  }
}

}  // namespace heddle
