// Statistics of interleaved pairs: the median counts, and how sure it is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace bench {

template <class F>
double milliseconds(F&& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// Half the width of the distribution-free 95 % interval of the median: order statistics n/2 +- 0.98 sqrt(n).
inline double half_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double n = double(values.size());
  const size_t low = size_t(std::max(0.0, std::floor(n / 2 - 0.98 * std::sqrt(n))));
  return (values[values.size() - 1 - low] - values[low]) / 2;
}

}  // namespace bench
