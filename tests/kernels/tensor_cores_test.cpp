// Dots that tensor cores compute, against references: what is promised of their bits, and of their values.
#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "tests/kernels/harness.h"
#include "tests/kernels/integer_gemm.h"

namespace {

using namespace kernels;

struct Extents {
  int64_t m, n, k;
};

// Integer sums wrap, so every device gives the same bits in whatever order it adds.
void check_integers(const Extents& e, int turn, const std::vector<Schedule>& schedules) {
  const auto layout = [&](int operand) { return Layout((turn >> 2 * operand) % 4); };
  Tensor<i8, 2> a({e.m, e.k}, layout(0)), b({e.k, e.n}, layout(1));
  Tensor<i32, 2> start({e.m, e.n}), c({e.m, e.n});
  std::mt19937 random(unsigned(turn) + 1);
  // Full range, and both extremes often: -128 times -128 is the largest product.
  const auto byte = [&] {
    const uint32_t bits = random();
    return i8(bits % 5 == 0 ? -128 : bits % 5 == 1 ? 127 : int(bits >> 8 & 255) - 128);
  };
  a.each([&](auto at) { a(at[0], at[1]) = byte(); });
  b.each([&](auto at) { b(at[0], at[1]) = byte(); });
  start.each([&](auto at) {
    start(at[0], at[1]) = random() % 2 ? std::numeric_limits<i32>::max() - i32(random() % 9) : i32(random());
  });
  c.each([&](auto at) {
    int64_t sum = start(at[0], at[1]);
    for (int64_t k = 0; k < e.k; ++k) sum += int64_t(a(at[0], k)) * b(k, at[1]);
    c.expect(double(i32(uint32_t(sum))), 0, at[0], at[1]);
  });
  check(integer_gemm, schedules, a, b, start, c);
}

}  // namespace

TEST_CASE("products of i8 are exact, and wrap") {
  const std::vector<Schedule> tiles{{.dims = {BM = 32, BN = 32, BK = 32}},
                                    {.dims = {BM = 48, BN = 24, BK = 80}}};
  // Operands in every pair of layouts: straight, with gaps that leave rows unaligned, transposed, reversed.
  for (int turn = 0; turn < 16; ++turn) check_integers({32, 64, 96}, turn, {tiles[size_t(turn) % 2]});
  check_integers({1, 1, 1}, 0, tiles);
  check_integers({33, 70, 131}, 2, tiles);
  check_integers({33, 70, 131}, 8, tiles);
  check_integers({16, 8, 0}, 0, tiles);
}
