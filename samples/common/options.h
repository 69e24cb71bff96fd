// What every sample asks of its command line, and what it prints.
#pragma once

#include <heddle/heddle.h>
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace sample {

struct Options {
  std::string target = "auto";
  std::string schedule;  // text or JSON; empty = chosen by rule
  int threads = 0;       // 0 = all
  int repeat = 10;
  bool check = true;
};

// Adds the common options to `app`.
void add_options(CLI::App& app, Options& options);

// What a size on the command line may be: products of two stay below 2^63.
inline CLI::Range extent() {
  return CLI::Range(int64_t(0), int64_t(1) << 31);
}

// The schedule of the command line, or nothing where the rule should choose.
bool has_schedule(const Options& options);

// How far a result is from its reference.
struct Difference {
  double max_absolute = 0;
  double max_reference = 0;  // the largest finite magnitude that was due
  long wrong = 0;            // elements outside their tolerance; NaN where a number was due counts
  long elements = 0;

  // The largest error against the largest magnitude: an element that cancels to near zero says nothing.
  double relative() const { return max_reference > 0 ? max_absolute / max_reference : max_absolute; }

  void add(double value, double reference, double tolerance);
  void add(const Difference& other);
};

// Runs `launch` once cold, then `repeat` times, and prints the report: device, trace, compile, cache,
// schedule, error, time and rate. `work` is what one launch moves or computes; `unit` is "GB/s" (work in
// bytes) or "GFLOP/s" (in flops). `check` compares the output of the first launch. Returns the best time in
// milliseconds.
double report(const Options& options, heddle::Stream& stream, const std::function<void()>& launch,
              const std::function<Difference()>& check, double work, const char* unit, bool& right);

// Times `run` as report() does: the best of `repeat` in milliseconds.
double best_time(int repeat, const std::function<void()>& run);

// Runs main's body; prints a heddle::Error and turns it into exit code 2, a wrong result into 1.
int guarded(const std::function<bool()>& body);

}  // namespace sample
