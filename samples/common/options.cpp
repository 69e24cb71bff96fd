// The samples' command line and report.
#include "common/options.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace sample {

void add_options(CLI::App& app, Options& options) {
  app.add_option("--target", options.target, "auto, cpu, cuda, or interpreter (the slow oracle)")
      ->capture_default_str();
  app.add_option("--schedule", options.schedule,
                 "how the work is spread, e.g. \"BM=128, BN=128, BK=256, work=persistent, "
                 "order=grouped{4}\"; left out: chosen by rule");
  app.add_option("--threads", options.threads, "CPU threads; 0 = all")->capture_default_str();
  app.add_option("--repeat", options.repeat, "timed launches, the best counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--check,!--no-check", options.check,
               "compare with a reference in double precision (the default)");
}

bool has_schedule(const Options& options) {
  return !options.schedule.empty();
}

void Difference::add(double value, double reference, double tolerance) {
  ++elements;
  if (std::isnan(reference) && std::isnan(value)) return;
  const double error = value == reference ? 0 : std::fabs(value - reference);  // equal infinities
  if (!(error <= tolerance)) ++wrong;
  max_absolute = std::max(max_absolute, error);
  if (std::isfinite(reference)) max_reference = std::max(max_reference, std::fabs(reference));
}

void Difference::add(const Difference& other) {
  max_absolute = std::max(max_absolute, other.max_absolute);
  max_reference = std::max(max_reference, other.max_reference);
  wrong += other.wrong;
  elements += other.elements;
}

double best_time(int repeat, const std::function<void()>& run) {
  double best = INFINITY;
  for (int i = 0; i < repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(
        best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double report(const Options& options, heddle::Stream& stream, const std::function<void()>& launch,
              const std::function<Difference()>& check, double work, const char* unit, bool& right) {
  const heddle::Device device = stream.device();
  if (device.kind() == heddle::Device::Kind::cuda)
    std::printf("device    %s, %ld multiprocessors\n", device.name(), long(device.concurrency()));
  else
    std::printf("device    %s, %d thread%s\n", device.name(), stream.threads(),
                stream.threads() == 1 ? "" : "s");
  launch();
  const heddle::runtime::LaunchReport cold = heddle::runtime::last_launch();
  char schedule[1024];
  heddle::print(cold.schedule, schedule, sizeof schedule);
  std::printf("schedule  %s%s\n", schedule, has_schedule(options) ? "" : "  (by rule)");
  std::printf("trace     %.2f ms\n", cold.trace_ms);
  if (!cold.compiled_now)
    std::printf("compile   nothing to do\n");
  else if (*cold.cache_path)
    std::printf("compile   %.2f ms, cache %s %s\n", cold.compile_ms, cold.cache_hit ? "hit" : "miss",
                cold.cache_path);
  else
    std::printf("compile   %.2f ms, not cached\n", cold.compile_ms);
  if (*cold.gpu.assembler) std::printf("code      %s\n", heddle::runtime::describe(cold.gpu));
  if (options.check) {
    const Difference difference = check();
    right = difference.wrong == 0;
    std::printf("error     max %.3g, relative %.3g: %s\n", difference.max_absolute, difference.relative(),
                right ? "right" : "WRONG");
    if (!right)
      std::printf("          %ld of %ld elements are outside their tolerance\n", difference.wrong,
                  difference.elements);
  } else {
    std::printf("error     not checked\n");
  }
  const double best = best_time(options.repeat, [&] {
    launch();
    stream.synchronize();
  });
  std::printf("time      %.3f ms, %.1f %s\n", best, work / best * 1e-6, unit);
  return best;
}

int guarded(const std::function<bool()>& body) {
  try {
    return body() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace sample
