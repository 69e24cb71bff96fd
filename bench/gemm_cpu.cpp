// GEMM on the CPU against OpenBLAS: same process, same cores, interleaved pairs, medians and a 95 % interval.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "common/blas.h"
#include "gemm/gemm.h"
#include "statistics.h"

using namespace heddle;
using sample::gemm;

namespace {

using bench::median;
using bench::milliseconds;

// A single call of a few milliseconds spreads too far to count, so a sample is the mean of as many calls as
// fill this long.
constexpr double kSampleMilliseconds = 100;

// Threads that spin after their work, as OpenBLAS's do for some 30 ms, would take a core from whoever comes
// next: they are given time to stop. The first call, which wakes our own, is not timed.
template <class Call>
double settled_milliseconds(const Call& call, int calls) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  call();
  return milliseconds([&] {
           for (int i = 0; i < calls; ++i) call();
         }) /
         calls;
}

template <class T>
bool measure(const char* dtype, int64_t size, bool ta, bool tb, int pairs, const Schedule* schedule,
             double floor) {
  Stream stream(Device::cpu());
  Buffer<T> a(stream.device(), size * size), b(stream.device(), size * size), c(stream.device(), size * size),
      peer_c(stream.device(), size * size);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < size * size; ++i) a.data()[i] = T(normal(random)), b.data()[i] = T(normal(random));
  const TensorRef<T, 2> view_a = ta ? a.view(size, size).transposed() : a.view(size, size);
  const TensorRef<T, 2> view_b = tb ? b.view(size, size).transposed() : b.view(size, size);
  auto ours = [&] {
    if (schedule)
      gemm<T>.with (*schedule)(stream, view_a, view_b, c.view(size, size));
    else
      gemm<T>(stream, view_a, view_b, c.view(size, size));
  };
  const sample::Blas& blas = *sample::Blas::open();
  blas.set_threads(stream.threads());
  auto peer = [&] {
    blas.multiply(ta, tb, size, size, size, a.data(), size, b.data(), size, peer_c.data(), size);
  };

  ours(), peer();
  double worst = 0;
  for (int64_t i = 0; i < size * size; ++i)
    worst = std::max(worst, std::fabs(double(c.data()[i]) - double(peer_c.data()[i])));
  const double tolerance = (sizeof(T) == 8 ? 0x1p-53 : 0x1p-24) * 64 * double(size);
  if (!(worst <= tolerance)) {
    std::printf("%s %ld: WRONG, differs from OpenBLAS by %g\n", dtype, long(size), worst);
    return false;
  }
  for (int i = 0; i < 3; ++i) ours(), peer();
  const int calls = std::max(1, int(kSampleMilliseconds / milliseconds(peer)));
  std::vector<double> ratios, ours_ms, peer_ms;
  for (int i = 0; i < pairs; ++i) {
    const bool first = i % 2 == 0;
    double t = 0, u = 0;
    if (first)
      t = settled_milliseconds(ours, calls), u = settled_milliseconds(peer, calls);
    else
      u = settled_milliseconds(peer, calls), t = settled_milliseconds(ours, calls);
    ratios.push_back(u / t), ours_ms.push_back(t), peer_ms.push_back(u);
  }
  const double flops = 2e-6 * double(size) * double(size) * double(size);
  const double ratio = median(ratios), spread = bench::half_interval(ratios) / median(ratios);
  std::printf(
      "%-4s %5ld %c%c  ours %8.2f ms %7.1f GFLOP/s   OpenBLAS (%s) %8.2f ms %7.1f GFLOP/s   ratio %.3f ±%.1f "
      "%%\n",
      dtype, long(size), ta ? 'T' : 'N', tb ? 'T' : 'N', median(ours_ms), flops / median(ours_ms),
      blas.kernel(), median(peer_ms), flops / median(peer_ms), ratio, 100 * spread);
  return ratio >= floor;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int64_t> sizes = {1024, 2048};
  int pairs = 15;
  double floor = 0;
  std::string text;
  bool transposes = false;
  CLI::App app("GEMM on the CPU against OpenBLAS, interleaved in one process");
  app.add_option("--sizes", sizes, "square sizes")->capture_default_str();
  app.add_option("--pairs", pairs, "interleaved pairs")->capture_default_str()->check(CLI::Range(15, 10000));
  app.add_option("--schedule", text, "left out: chosen by rule");
  app.add_option("--floor", floor, "exit with 1 if an f32 ratio is below this");
  app.add_flag("--transposes", transposes, "all four combinations, and f64");
  CLI11_PARSE(app, argc, argv);
  if (!sample::Blas::open()) {
    std::fprintf(stderr, "OpenBLAS is not installed: nothing to compare with\n");
    return 3;
  }
  try {
    const Schedule schedule = parse_schedule(text.c_str());
    const Schedule* chosen = text.empty() ? nullptr : &schedule;
    bool held = true;
    for (int64_t size : sizes)
      for (const bool tb : {false, true})
        for (const bool ta : {false, true}) {
          if ((ta || tb) && !transposes) continue;
          held &= measure<f32>("f32", size, ta, tb, pairs, chosen, floor);
          if (transposes) held &= measure<f64>("f64", size, ta, tb, pairs, chosen, 0);
        }
    return held ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
