// The kernels under way on each device, so that a fault, which the driver tells of at some later call, can be
// told with the names of those that may have caused it.
#pragma once

#include <string>

#include "codegen/ir/location.h"
#include "runtime/cuda/api.h"

namespace heddle::runtime::cuda {

// A launch by us was accepted. `kernel` and the location's file live as long as the process. Costs no more
// than a few nanoseconds.
void note_launch(int device, StreamHandle stream, const char* kernel, Location where) noexcept;
// How many launches were noted on the device; taken before a wait.
uint64_t count_launches(int device) noexcept;
// The stream was waited for, and all was well up to `count`.
void forget_launches(int device, StreamHandle stream, uint64_t count) noexcept;
// "'add' (user.cpp:12), 'scale' (user.cpp:20)": the last few on any device, latest first; empty if none.
std::string describe_launches();

}  // namespace heddle::runtime::cuda
