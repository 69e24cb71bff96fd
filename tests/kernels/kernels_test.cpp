// Twelve kernels as a user would write them, with the public header alone, against references in double
// precision: edges, strides, empty problems, special values, and every way to spread the work.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/batched_gemm.h"
#include "tests/kernels/causal_mask.h"
#include "tests/kernels/convolution.h"
#include "tests/kernels/dot_reductions.h"
#include "tests/kernels/dual_gemm.h"
#include "tests/kernels/harness.h"
#include "tests/kernels/in_place.h"
#include "tests/kernels/low_rank.h"
#include "tests/kernels/online_softmax.h"
#include "tests/kernels/row_norm.h"
#include "tests/kernels/stencil.h"
#include "tests/kernels/transposed_gemm.h"
#include "tests/kernels/two_dots.h"

namespace {

using namespace kernels;

template <class T>
constexpr double unit = sizeof(T) == 8           ? 0x1p-53
                        : sizeof(T) == 4         ? 0x1p-24
                        : std::is_same_v<T, f16> ? 0x1p-11
                                                 : 0x1p-8;

// What a sum of products is, and what the magnitudes sum to: a chain of K roundings is off by at most about K
// units of that.
struct Chain {
  double value = 0, magnitude = 0;
  int64_t steps = 0;
  void add(double x, double y) {
    value += x * y;
    magnitude += std::fabs(x * y);
    ++steps;
  }
  template <class T>
  double bound() const {
    return double(steps + 1) * unit<T> * magnitude;
  }
};

// A problem: extents; a start into the layouts, so that operands take turns in them; whether its inputs hold
// NaN and infinities. One of each few runs under all schedules: each layout and schedule is compiled anew.
struct Problem {
  int64_t m, n, k;
  int turn = 0;
  bool special = false;
  bool all_schedules = false;

  Layout layout(int operand) const { return Layout((turn + operand) % 4); }
  std::vector<Schedule> under(const std::vector<Schedule>& schedules) const {
    return all_schedules ? schedules : std::vector<Schedule>{schedules.front()};
  }
};

const std::vector<Problem> products = {
    {1, 1, 1, 0},          {7, 5, 3, 2},    {19, 23, 17, 0, false, true},
    {19, 23, 17, 2},       {19, 23, 17, 3}, {0, 4, 3, 2},
    {4, 0, 3, 0},          {5, 6, 0, 2},    {2, 33, 9, 0},
    {19, 23, 17, 0, true},
};

const std::vector<Schedule> product_tiles = spread({{.dims = {BM = 3, BN = 5, BK = 7}},
                                                    {.dims = {BM = 8, BN = 16, BK = 4}},
                                                    {.dims = {BM = 12, BN = 9, BK = 1}}},
                                                   true);

Chain product(const auto& a, const auto& b, int64_t i, int64_t j) {
  Chain chain;
  for (int64_t k = 0; k < a.extent(1); ++k) chain.add(a.value(i, k), b.value(k, j));
  return chain;
}

TEST_CASE("two dots in one loop") {
  for (const Problem& p : products) {
    Values values(1);
    Tensor<f32, 2> a({p.m, p.k}, p.layout(0)), b({p.k, p.n}, p.layout(1)), c({p.m, p.n}, p.layout(2)),
        magnitude({p.m, p.n}, p.layout(3));
    values.fill(a, p.special), values.fill(b, p.special);
    c.each([&](auto i) {
      const Chain sum = product(a, b, i[0], i[1]);
      c.expect(sum.value, sum.bound<f32>(), i[0], i[1]);
      magnitude.expect(sum.magnitude, sum.bound<f32>(), i[0], i[1]);
    });
    check(two_dots, p.under(product_tiles), a, b, c, magnitude);
  }
}

template <class T>
void check_dual_gemm(const Problem& p) {
  Values values(2);
  Tensor<T, 2> a({p.m, p.k}, p.layout(0)), b1({p.k, p.n}, p.layout(1)), b2({p.k, p.n}, p.layout(2)),
      c({p.m, p.n}, p.layout(3));
  values.fill(a, p.special), values.fill(b1, p.special), values.fill(b2, p.special);
  c.each([&](auto i) {
    const Chain gate = product(a, b1, i[0], i[1]), up = product(a, b2, i[0], i[1]);
    const double silu = gate.value * (1 / (1 + std::exp(-gate.value)));
    const double result = silu * up.value;
    // silu is nowhere steeper than 1.1.
    const double off_gate = 1.1 * gate.bound<f32>(), off_up = up.bound<f32>();
    c.expect(result,
             off_gate * (std::fabs(up.value) + off_up) + std::fabs(silu) * off_up +
                 std::fabs(result) * (16 * unit<f32> + unit<T>),
             i[0], i[1]);
  });
  check(dual_gemm<T>, p.under(product_tiles), a, b1, b2, c);
}

TEST_CASE("dual GEMM that shares A") {
  for (const Problem& p : products) check_dual_gemm<f32>(p);
  check_dual_gemm<bf16>({19, 23, 17, 2});
  check_dual_gemm<f16>({7, 20, 9, 1});
}

template <class T>
void check_low_rank(const Problem& p) {
  Values values(3);
  Tensor<T, 2> c({p.m, p.n}, p.layout(0)), u({p.m, p.k}, p.layout(1)), v({p.k, p.n}, p.layout(2)),
      out({p.m, p.n}, p.layout(3));
  values.fill(c, p.special), values.fill(u, p.special), values.fill(v, p.special);
  out.each([&](auto i) {
    Chain sum = product(u, v, i[0], i[1]);
    sum.add(c.value(i[0], i[1]), 1);
    out.expect(sum.value, sum.bound<T>(), i[0], i[1]);
  });
  check(
      low_rank<T>,
      p.under(spread({{.dims = {BM = 3, BN = 5, RANK = 17}}, {.dims = {BM = 8, BN = 16, RANK = 32}}}, true)),
      c, u, v, out);
}

TEST_CASE("a dot outside any loop") {
  for (const Problem& p : products) check_low_rank<f32>(p);
  check_low_rank<f64>({19, 23, 17, 2});
}

TEST_CASE("a loop without a dot") {
  for (const Problem& p : products) {
    Values values(4);
    Tensor<f32, 2> x({p.m, p.n}, p.layout(0));
    Tensor<f32, 1> norm({p.m}, p.layout(1));
    values.fill(x, p.special);
    for (int64_t i = 0; i < p.m; ++i) {
      Chain squares;
      for (int64_t j = 0; j < p.n; ++j) squares.add(x.value(i, j), x.value(i, j));
      const double root = std::sqrt(squares.value);
      norm.expect(root, double(p.n + 2) * unit<f32> * root, i);
    }
    check(
        row_norm,
        p.under(spread(
            {{.dims = {ROWS = 3, COLS = 7}}, {.dims = {ROWS = 8, COLS = 16}}, {.dims = {ROWS = 1, COLS = 1}}},
            false)),
        x, norm);
  }
}

TEST_CASE("a dot reduced along each axis") {
  for (const Problem& p : products) {
    Values values(5);
    const int64_t batch = p.m == 4 ? 0 : 2;
    Tensor<f32, 3> a({batch, p.m, p.k}, p.layout(0));
    Tensor<f32, 2> b({p.k, p.n}, p.layout(1)), row_max({batch, p.m}, p.layout(2)),
        column_sum({batch, p.n}, p.layout(3));
    values.fill(a, p.special), values.fill(b, p.special);
    for (int64_t t = 0; t < batch; ++t) {
      std::vector<double> largest(size_t(p.m), -INFINITY), off(size_t(p.m), 0.0);
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0, bound = 0;
        for (int64_t i = 0; i < p.m; ++i) {
          Chain chain;
          for (int64_t k = 0; k < p.k; ++k) chain.add(a.value(t, i, k), b.value(k, j));
          double& row = largest[size_t(i)];
          row = std::isnan(row) || std::isnan(chain.value) ? NAN : std::max(row, chain.value);
          off[size_t(i)] = std::max(off[size_t(i)], chain.bound<f32>());
          sum += chain.value;
          bound += chain.bound<f32>() + 8 * unit<f32> * chain.magnitude;  // log2(m) levels of additions
        }
        column_sum.expect(sum, bound, t, j);
      }
      for (int64_t i = 0; i < p.m; ++i) row_max.expect(largest[size_t(i)], off[size_t(i)], t, i);
    }
    check(dot_reductions,
          p.under(spread({{.dims = {ROWS = 19, COLS = 33, BK = 7}}, {.dims = {ROWS = 32, COLS = 64, BK = 4}}},
                         false)),
          a, b, row_max, column_sum);
  }
}

TEST_CASE("a transposed store") {
  for (const Problem& p : products) {
    Values values(6);
    Tensor<f32, 2> a({p.m, p.k}, p.layout(0)), b({p.k, p.n}, p.layout(1)), c({p.n, p.m}, p.layout(2));
    values.fill(a, p.special), values.fill(b, p.special);
    c.each([&](auto i) {
      const Chain sum = product(a, b, i[1], i[0]);
      c.expect(sum.value, sum.bound<f32>(), i[0], i[1]);
    });
    check(transposed_gemm, p.under(product_tiles), a, b, c);
  }
}

TEST_CASE("three variables of one loop") {
  for (const Problem& p : products) {
    Values values(7);
    Tensor<f32, 2> score({p.m, p.n}, p.layout(0));
    Tensor<f32, 1> value({p.n}, p.layout(1)), largest({p.m}, p.layout(2)), log_weight({p.m}, p.layout(3)),
        mean({p.m}, p.layout(0));
    values.fill(score, false), values.fill(value, p.special);
    if (p.special) score(0, 3) = NAN, score(1, 4) = INFINITY, score(2, 5) = -INFINITY;
    for (int64_t i = 0; i < p.m; ++i) {
      double top = -INFINITY;
      for (int64_t j = 0; j < p.n; ++j)
        top = std::isnan(top) || std::isnan(score.value(i, j)) ? NAN : std::max(top, score.value(i, j));
      double weight = 0;
      Chain total;
      for (int64_t j = 0; j < p.n; ++j) {
        const double e = std::exp(score.value(i, j) - top);
        weight += e;
        total.add(e, value.value(j));
      }
      // Each chunk rescales what came before; every factor is off by a few units.
      const double off = double(8 * p.n + 32) * unit<f32>;
      largest.expect(top, 0, i);
      log_weight.expect(top + std::log(weight), off + 4 * unit<f32> * std::fabs(top), i);
      mean.expect(total.value / weight, off * total.magnitude / weight, i);
    }
    check(
        online_softmax,
        p.under(spread(
            {{.dims = {ROWS = 3, COLS = 7}}, {.dims = {ROWS = 8, COLS = 16}}, {.dims = {ROWS = 1, COLS = 2}}},
            false)),
        score, value, largest, log_weight, mean);
  }
}

TEST_CASE("a reduction inside a range") {
  for (const Problem& p : products)
    for (int64_t taps : {3, 4, 0}) {
      Values values(8);
      Tensor<f32, 2> x({p.m, p.k}, p.layout(0)), out({p.m, p.n}, p.layout(2));
      Tensor<f32, 3> w({taps, p.k, p.n}, p.layout(1));
      values.fill(x, p.special), values.fill(w, false);
      out.each([&](auto at) {
        Chain sum;
        for (int64_t r = 0; r < taps; ++r)
          for (int64_t i = 0; i < p.k; ++i) {
            const int64_t t = at[0] + r - taps / 2;
            sum.add(t >= 0 && t < p.m ? x.value(t, i) : 0, w.value(r, i, at[1]));
          }
        out.expect(sum.value, sum.bound<f32>(), at[0], at[1]);
      });
      check(convolution, p.under(product_tiles), x, w, out);
    }
}

template <class T>
void check_batched_gemm(const Problem& p, int64_t batch) {
  Values values(9);
  Tensor<T, 3> a({batch, p.m, p.k}, p.layout(0)), b({batch, p.k, p.n}, p.layout(1)),
      c({batch, p.m, p.n}, p.layout(2));
  values.fill(a, p.special), values.fill(b, p.special);
  c.each([&](auto i) {
    Chain sum;
    for (int64_t k = 0; k < p.k; ++k) sum.add(a.value(i[0], i[1], k), b.value(i[0], k, i[2]));
    c.expect(sum.value, sum.bound<f32>() + unit<T> * std::fabs(sum.value), i[0], i[1], i[2]);
  });
  check(batched_gemm<T>,
        p.under(spread({{.dims = {BM = 3, BN = 5, BK = 7}}, {.dims = {BM = 8, BN = 16, BK = 4}}}, true)), a,
        b, c);
}

TEST_CASE("a batch axis") {
  for (const Problem& p : products) check_batched_gemm<f32>(p, 3);
  check_batched_gemm<f32>({7, 5, 3}, 0);
  check_batched_gemm<f32>({7, 5, 3}, 1);
  check_batched_gemm<bf16>({7, 20, 9, 2}, 2);
}

TEST_CASE("masks of two dims") {
  for (const Problem& p : products) {
    Values values(10);
    const Layout layout = p.turn ? Layout::gapped : Layout::packed;
    Tensor<f32, 2> x({p.m, p.n}, layout), out({p.m, p.n}, Layout::gapped);
    values.fill(x, p.special);
    out.each([&](auto i) { out.expect(i[1] <= i[0] ? x.value(i[0], i[1]) : -INFINITY, 0, i[0], i[1]); });
    check_launches(
        {{.dims = {ROWS = 3, COLS = 7}}, {.dims = {ROWS = 8, COLS = 16}}, {.dims = {ROWS = 64, COLS = 48}}},
        [&](const Schedule& schedule) {
          return [&](Stream& stream, const auto&... argument) {
            causal_mask.with(schedule).grid(ceil_div(p.m, schedule.dims.find("ROWS")->value),
                                            ceil_div(p.n, schedule.dims.find("COLS")->value))(stream,
                                                                                              argument...);
          };
        },
        pointer(x), pointer(out), p.m, p.n, x.stride(0), out.stride(0));
  }
}

TEST_CASE("updates in place") {
  for (const Problem& p : products) {
    Values values(11);
    Tensor<f32, 2> x({p.m, p.n}, p.layout(0));
    Tensor<f32, 1> scale({p.n}, p.layout(1));
    values.fill(x, p.special), values.fill(scale, p.special);
    const float shift = 0.3f;
    x.each([&](auto i) {
      const double scaled = x.value(i[0], i[1]) * scale.value(i[1]), result = scaled + double(shift);
      x.expect(result, unit<f32> * (std::fabs(scaled) + std::fabs(result)), i[0], i[1]);
    });
    check(affine, p.under(spread({{.dims = {ROWS = 3, COLS = 7}}, {.dims = {ROWS = 8, COLS = 16}}}, true)), x,
          scale, shift);

    Tensor<f32, 2> y({p.m, p.n}, p.layout(2));
    values.fill(y, p.special);
    for (int64_t i = 0; i < p.m; ++i) {
      double top = -INFINITY, sum = 0;
      for (int64_t j = 0; j < p.n; ++j)
        top = std::isnan(top) || std::isnan(y.value(i, j)) ? NAN : std::max(top, y.value(i, j));
      for (int64_t j = 0; j < p.n; ++j) sum += std::exp(y.value(i, j) - top);
      for (int64_t j = 0; j < p.n; ++j) {
        const double result = std::exp(y.value(i, j) - top) / sum;
        y.expect(result, 32 * unit<f32> * result, i, j);
      }
    }
    check(softmax_in_place, p.under(spread({{.dims = {COLS = 33}}, {.dims = {COLS = 64}}}, false)), y);
  }
}

template <class T>
void check_laplacian(const Problem& p) {
  Values values(12);
  Tensor<T, 2> u({p.m, p.n}, p.layout(0)), out({p.m, p.n}, p.layout(1));
  values.fill(u, p.special);
  out.each([&](auto at) {
    Chain sum;
    auto add = [&](int64_t i, int64_t j, double weight) {
      if (i >= 0 && i < p.m && j >= 0 && j < p.n) sum.add(u.value(i, j), weight);
    };
    add(at[0] - 1, at[1], 1), add(at[0] + 1, at[1], 1), add(at[0], at[1] - 1, 1), add(at[0], at[1] + 1, 1);
    add(at[0], at[1], -4);
    out.expect(sum.value, sum.bound<T>(), at[0], at[1]);
  });
  check(laplacian<T>,
        p.under(spread({{.dims = {ROWS = 3, COLS = 7}}, {.dims = {ROWS = 8, COLS = 16}}}, true)), u, out);
}

TEST_CASE("a stencil") {
  for (const Problem& p : products) check_laplacian<f32>(p);
  check_laplacian<f64>({19, 23, 0, 2});
}

}  // namespace
