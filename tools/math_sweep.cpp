// The error of the math functions over every argument: f32's 2^32, f16's and bf16's 2^16. docs/math.md
// reports it. The reference is the C library in f64, whose own error is below 2^-28 of an f32's last place.
//
// For each function and type: the largest error in units of the exact result's last place, with its argument;
// how many results are NaN, infinite or zero of a sign where the exact result rounded is not, or the other
// way round; how often the result falls from one argument to the next (most of these functions rise).
#include <heddle/heddle.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "common/options.h"

using namespace heddle;

namespace {

HEDDLE_DIM(BLOCK);

#define FUNCTION(Name, function, exact)            \
  struct Name {                                    \
    static constexpr const char* name = #function; \
    static auto apply(const auto& x) {             \
      return function(x);                          \
    }                                              \
    static double reference(double x) {            \
      return exact;                                \
    }                                              \
  };
FUNCTION(Exp, exp, std::exp(x))
FUNCTION(Exp2, exp2, std::exp2(x))
FUNCTION(Expm1, expm1, std::expm1(x))
FUNCTION(Log, log, std::log(x))
FUNCTION(Log2, log2, std::log2(x))
FUNCTION(Log1p, log1p, std::log1p(x))
FUNCTION(Sin, sin, std::sin(x))
FUNCTION(Cos, cos, std::cos(x))
FUNCTION(Tanh, tanh, std::tanh(x))
FUNCTION(Erf, erf, std::erf(x))
FUNCTION(Sigmoid, sigmoid, 1 / (1 + std::exp(-x)))
FUNCTION(Sqrt, sqrt, std::sqrt(x))
FUNCTION(Rsqrt, rsqrt, 1 / std::sqrt(x))
FUNCTION(Ceil, ceil, std::ceil(x))
FUNCTION(Trunc, trunc, std::trunc(x))
FUNCTION(Round, round, std::round(x))
#undef FUNCTION

template <class Function, class T>
const Kernel apply_kernel{"math_sweep", [](View<const T, 1> in, View<T, 1> out) {
                            auto [i] = tile_id<BLOCK>(in);
                            store(out, {i}, Function::apply(load<BLOCK>(in, {i})));
                          }};

// Of the formats swept: exponent of the least normal number, stored mantissa bits, greatest number.
struct Format {
  int least_exponent, mantissa_bits;
  double largest;
};
constexpr Format format_of(DType type) {
  if (type == DType::f16) return {-14, 10, 65504};
  if (type == DType::bf16) return {-126, 7, 0x1.fep127};
  return {-126, 23, 0x1.fffffep127};
}

struct Findings {
  double error = 0, worst = 0;  // in last places, and where
  long wrong_kind = 0, falls = 0;
  double first_wrong = 0, first_fall = 0;

  void add(const Findings& other) {
    if (other.error > error) error = other.error, worst = other.worst;
    if (other.wrong_kind && !wrong_kind) first_wrong = other.first_wrong;
    if (other.falls && !falls) first_fall = other.first_fall;
    wrong_kind += other.wrong_kind;
    falls += other.falls;
  }
};

double last_place(double exact, Format format) {
  const int exponent = int(std::bit_cast<uint64_t>(exact) >> 52 & 0x7ff) - 1023;
  const int place = std::max(exponent, format.least_exponent) - format.mantissa_bits;
  return std::bit_cast<double>(uint64_t(place + 1023) << 52);
}

void judge(double x, double found, double exact, Format format, Findings& findings) {
  const auto wrong = [&] {
    if (findings.wrong_kind++ == 0) findings.first_wrong = x;
  };
  if (std::isnan(found) || std::isnan(exact)) {
    if (std::isnan(found) != std::isnan(exact)) wrong();
    return;
  }
  const double overflow = format.largest + last_place(format.largest, format) / 2;
  const bool infinite = std::fabs(exact) >= overflow;
  if (std::isinf(found) || infinite) {
    if (!(std::isinf(found) && infinite && std::signbit(found) == std::signbit(exact))) wrong();
    return;
  }
  if ((found == 0 || exact == 0) && std::signbit(found) != std::signbit(exact)) wrong();
  const double error = std::fabs(found - exact) / last_place(exact, format);
  if (error > findings.error) findings.error = error, findings.worst = x;
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;

// Arguments first, first + stride, ... as bit patterns, `count` of them.
template <class Function, class T>
Findings sweep_chunk(Stream& stream, uint64_t first, uint64_t stride, int64_t count, std::vector<T>& in,
                     std::vector<T>& out) {
  for (int64_t i = 0; i < count; ++i)
    in[size_t(i)] = std::bit_cast<T>(BitsOf<T>(first + uint64_t(i) * stride));
  apply_kernel<Function, T>.with({.dims = {BLOCK = 4096}})(stream, TensorRef<const T, 1>(in.data(), {count}),
                                                           TensorRef<T, 1>(out.data(), {count}));
  Findings findings;
  double before = std::numeric_limits<double>::quiet_NaN();
  bool negative_before = false;
  for (int64_t i = 0; i < count; ++i) {
    const double x = double(in[size_t(i)]), y = double(out[size_t(i)]);
    judge(x, y, Function::reference(x), format_of(dtype_of<T>), findings);
    const bool negative = std::signbit(x);
    if (negative == negative_before && (negative ? y > before : y < before))
      if (findings.falls++ == 0) findings.first_fall = x;
    before = y, negative_before = negative;
  }
  return findings;
}

template <class Function, class T>
bool sweep(int threads, uint64_t stride, double bound) {
  constexpr int64_t kChunk = 1 << 16;
  const uint64_t patterns = uint64_t(1) << (8 * sizeof(T));
  if (sizeof(T) == 2) stride = 1;
  const auto start = std::chrono::steady_clock::now();
  const uint64_t arguments = (patterns + stride - 1) / stride;
  std::atomic<uint64_t> next{0};
  std::vector<Findings> found(size_t(threads) + 1);
  const auto work = [&](size_t thread) {
    Stream stream(Device::cpu(), 1);
    std::vector<T> in(kChunk), out(kChunk);
    for (;;) {
      const uint64_t begin = next.fetch_add(kChunk);
      if (begin >= arguments) break;
      const int64_t count = int64_t(std::min<uint64_t>(kChunk, arguments - begin));
      found[thread].add(sweep_chunk<Function, T>(stream, begin * stride, stride, count, in, out));
    }
    // The ends of every exponent, whatever the stride.
    if (thread == 0 && stride > 1)
      for (uint64_t exponent = 0; exponent < 512; ++exponent)
        found.back().add(sweep_chunk<Function, T>(stream, (exponent << 23) - 64, 1, 128, in, out));
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work, size_t(i));
  work(0);
  for (std::thread& thread : pool) thread.join();
  Findings total;
  for (const Findings& part : found) total.add(part);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%-8s %-5s %11lu arguments  %.4f ulp at %a (%.9g)  %ld of the wrong kind", Function::name,
              to_string(dtype_of<T>), static_cast<unsigned long>(arguments), total.error, total.worst,
              total.worst, total.wrong_kind);
  if (total.wrong_kind) std::printf(" (first %a)", total.first_wrong);
  std::printf("  %ld falls", total.falls);
  if (total.falls) std::printf(" (first %a)", total.first_fall);
  std::printf("  %.0f s\n", seconds);
  std::fflush(stdout);
  return total.wrong_kind == 0 && total.error <= bound;
}

struct Options {
  std::string only;
  int threads = 0;
  uint64_t stride = 1;
  bool small = false;
};

template <class Function>
bool sweep_types(const Options& options) {
  if (!options.only.empty() && options.only != Function::name) return true;
  const int threads =
      options.threads ? options.threads : int(std::max(1u, std::thread::hardware_concurrency()));
  const bool narrow = sweep<Function, f16>(threads, 1, 0.51) & sweep<Function, bf16>(threads, 1, 0.51);
  return (options.small || sweep<Function, f32>(threads, options.stride, 2)) && narrow;
}

template <class... Functions>
bool sweep_all(const Options& options) {
  return (... & sweep_types<Functions>(options));  // each, whatever the others found
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Largest error of Heddle's math functions; fails beyond 2 last places of f32, 0.51 of f16 and bf16");
  app.add_option("function", options.only, "one function, such as exp; all when left out");
  app.add_option("--threads", options.threads, "0 = one a core")->check(CLI::NonNegativeNumber);
  app.add_option("--stride", options.stride, "of f32, try each n-th pattern and the ends of every exponent")
      ->check(CLI::PositiveNumber);
  app.add_flag("--narrow", options.small, "f16 and bf16 alone");
  CLI11_PARSE(app, argc, argv);
  return sample::guarded([&] {
    return sweep_all<Exp, Exp2, Expm1, Log, Log2, Log1p, Sin, Cos, Tanh, Erf, Sigmoid, Sqrt, Rsqrt, Ceil,
                     Trunc, Round>(options);
  });
}
