// The devices that code is made for, as plain data.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::codegen {

// What kind of device a kernel is scheduled for: which fields of a schedule can be honoured, and what the
// default rule aims at.
enum class Target : uint8_t { cpu, gpu };

// The machine a schedule is chosen for.
struct Machine {
  Target target = Target::cpu;
  int64_t concurrency = 1;  // workers that run at once
};

// A GPU as the code generator sees it.
struct GpuTarget {
  int sm = 80;                       // compute capability, major * 10 + minor
  int64_t shared_bytes = 99 * 1024;  // that one CTA may have, opted in
};

// What a launch must know of a GPU kernel besides its text. Every parameter of `entry` is 8 bytes: the
// arguments' slots, then WorkParams in order (codegen/schedule/lower.h), then the number of workers. CTA (x,
// y) of the grid is worker y * gridDim.x + x; those at or beyond the number leave at once.
inline constexpr int kGpuWorkParams = 5;
struct GpuKernel {
  std::string ptx;
  std::string entry;
  int threads = 0;           // of a CTA, along x
  int64_t shared_bytes = 0;  // dynamic
};
}  // namespace heddle::codegen
