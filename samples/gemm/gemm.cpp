// Command line around the GEMM of gemm.h: sizes, types, transposes, schedule; checks, times and compares.
#include "gemm/gemm.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "common/blas.h"
#include "common/options.h"

namespace {

using namespace heddle;
using sample::gemm;

struct Problem {
  sample::Options options;
  std::string dtype = "f32";
  int64_t m = 1024, n = 1024, k = 1024;
  bool transpose_a = false, transpose_b = false;
};

// Runs body(begin, end) over slices of [0, count) on all cores.
template <class Body>
void parallel(int64_t count, Body body) {
  const int64_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (int64_t t = 0; t < threads; ++t)
    pool.emplace_back([=] { body(count * t / threads, count * (t + 1) / threads); });
  for (std::thread& thread : pool) thread.join();
}

std::vector<double> row_major(const std::vector<double>& stored, int64_t rows, int64_t columns,
                              bool transposed) {
  if (!transposed) return stored;
  std::vector<double> out(stored.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) out[size_t(i * columns + j)] = stored[size_t(j * rows + i)];
  return out;
}

// Every element against a product in double precision. An f32 chain of K steps is off by about its unit
// roundoff times the norms of its row and column; rounding to T adds half a unit of T.
template <class T>
sample::Difference compare(const Problem& p, const std::vector<double>& a, const std::vector<double>& b,
                           const T* c) {
  const double unit_accumulate = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;
  const double unit_result = sizeof(T) == 8           ? 0x1p-53
                             : sizeof(T) == 4         ? 0x1p-24
                             : std::is_same_v<T, f16> ? 0x1p-11
                                                      : 0x1p-8;
  std::vector<double> column_norm(size_t(p.n), 0.0);
  for (int64_t k = 0; k < p.k; ++k)
    for (int64_t j = 0; j < p.n; ++j)
      column_norm[size_t(j)] += b[size_t(k * p.n + j)] * b[size_t(k * p.n + j)];
  std::vector<sample::Difference> rows(size_t(p.m));
  parallel(p.m, [&](int64_t begin, int64_t end) {
    std::vector<double> row(static_cast<size_t>(p.n));
    for (int64_t i = begin; i < end; ++i) {
      std::fill(row.begin(), row.end(), 0.0);
      double norm = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        const double x = a[size_t(i * p.k + k)];
        norm += x * x;
        for (int64_t j = 0; j < p.n; ++j) row[size_t(j)] += x * b[size_t(k * p.n + j)];
      }
      for (int64_t j = 0; j < p.n; ++j)
        rows[size_t(i)].add(double(c[i * p.n + j]), row[size_t(j)],
                            8 * unit_accumulate * std::sqrt(norm * column_norm[size_t(j)]) +
                                unit_result * std::fabs(row[size_t(j)]) +
                                (std::is_same_v<T, f16> ? 0x1p-25 : 0));
    }
  });
  sample::Difference all;
  for (const sample::Difference& row : rows) all.add(row);
  return all;
}

template <class T>
bool run(const Problem& p) {
  Stream stream(Device::open(p.options.target.c_str()), p.options.threads);
  Buffer<T> a(stream.device(), p.m * p.k), b(stream.device(), p.k * p.n), c(stream.device(), p.m * p.n);

  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto fill = [&](Buffer<T>& buffer) {
    std::vector<T> host(static_cast<size_t>(buffer.size()));
    std::vector<double> exact(host.size());
    for (size_t i = 0; i < host.size(); ++i) exact[i] = double(host[i] = T(normal(random)));
    buffer.upload(stream, host.data());
    return exact;
  };
  const std::vector<double> exact_a = fill(a), exact_b = fill(b);

  // A transposed operand is the same memory seen through swapped strides.
  const TensorRef<T, 2> view_a = p.transpose_a ? a.view(p.k, p.m).transposed() : a.view(p.m, p.k);
  const TensorRef<T, 2> view_b = p.transpose_b ? b.view(p.n, p.k).transposed() : b.view(p.k, p.n);
  const Schedule schedule = parse_schedule(p.options.schedule.c_str());
  auto launch = [&] {
    if (sample::has_schedule(p.options))
      gemm<T>.with(schedule)(stream, view_a, view_b, c.view(p.m, p.n));
    else
      gemm<T>(stream, view_a, view_b, c.view(p.m, p.n));
  };
  auto check = [&] {
    std::vector<T> result(static_cast<size_t>(c.size()));
    c.download(stream, result.data());
    return compare<T>(p, row_major(exact_a, p.m, p.k, p.transpose_a),
                      row_major(exact_b, p.k, p.n, p.transpose_b), result.data());
  };

  std::printf("kernel    gemm %s, %ldx%ldx%ld%s%s\n", p.dtype.c_str(), long(p.m), long(p.n), long(p.k),
              p.transpose_a ? ", A transposed" : "", p.transpose_b ? ", B transposed" : "");
  bool right = true;
  const double best = sample::report(p.options, stream, launch, check,
                                     2.0 * double(p.m) * double(p.n) * double(p.k), "GFLOP/s", right);

  if constexpr (std::is_same_v<T, f32> || std::is_same_v<T, f64>) {
    if (stream.device().kind() == Device::Kind::cuda) return right;  // OpenBLAS reads no GPU's memory
    const sample::Blas* blas = sample::Blas::open();
    if (!blas) {
      std::printf("OpenBLAS  not found\n");
      return right;
    }
    blas->set_threads(stream.threads());
    auto multiply = [&] {
      blas->multiply(p.transpose_a, p.transpose_b, p.m, p.n, p.k, a.data(),
                     std::max<int64_t>(1, p.transpose_a ? p.m : p.k), b.data(),
                     std::max<int64_t>(1, p.transpose_b ? p.k : p.n), c.data(), std::max<int64_t>(1, p.n));
    };
    multiply();
    const double peer = sample::best_time(p.options.repeat, multiply);
    std::printf("OpenBLAS  %.3f ms (%s): ours runs at %.2f of its speed\n", peer, blas->kernel(),
                peer / best);
  }
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  Problem p;
  CLI::App app("Heddle's sample GEMM: traces, compiles, caches, runs, checks and times a matrix product");
  app.add_option("--dtype", p.dtype, "f16, bf16, f32 or f64")
      ->capture_default_str()
      ->check(CLI::IsMember({"f16", "bf16", "f32", "f64"}));
  app.add_option("-m", p.m, "rows of C")->capture_default_str()->check(sample::extent());
  app.add_option("-n", p.n, "columns of C")->capture_default_str()->check(sample::extent());
  app.add_option("-k", p.k, "length of the dot products")->capture_default_str()->check(sample::extent());
  app.add_flag("--ta", p.transpose_a, "A is stored transposed");
  app.add_flag("--tb", p.transpose_b, "B is stored transposed");
  sample::add_options(app, p.options);
  CLI11_PARSE(app, argc, argv);
  return sample::guarded([&] {
    if (p.dtype == "f16") return run<f16>(p);
    if (p.dtype == "bf16") return run<bf16>(p);
    if (p.dtype == "f64") return run<f64>(p);
    return run<f32>(p);
  });
}
