// Time as reports tell it.
#pragma once

#include <chrono>

namespace heddle::runtime {

using Clock = std::chrono::steady_clock;

inline double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace heddle::runtime
