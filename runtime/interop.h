// Kernels by name, for callers that are no C++: a process publishes kernels, and anyone calls them through
// one C function with raw pointers, strides and a CUstream (Python's ctypes, say, beside PyTorch).
#pragma once

#include <cstddef>
#include <cstdint>

#include "codegen/ir/export.h"
#include "runtime/launch.h"

namespace heddle {

// Makes a kernel callable as `name` from heddle_launch. The kernel must live as long as the process; a name
// published again means the later kernel. Throws Error (trace) if the kernel can't be traced.
HEDDLE_API void publish(const char* name, const runtime::KernelSource& source);

}  // namespace heddle

extern "C" {

// One argument: a pointer (0), a view (1) or a scalar (2). Of a view, extents and strides (in elements) for
// each axis.
struct heddle_argument {
  int32_t kind;
  int32_t rank;
  uint64_t bits;  // address, or the scalar's own bits in the low bytes
  int64_t extents[5];
  int64_t strides[5];
};

// Launches kernel `name` on `device` ("cpu", "cuda:0"), on a CUstream of it (null: its default stream), under
// `schedule` (text or JSON; null or empty: chosen by rule). `grid` has three numbers for kernels that ask
// program_id, else is null. 0 on success; else 1, and `message` holds as much of the error's text as fits in
// `size` bytes, with a NUL.
HEDDLE_API int heddle_launch(const char* name, const char* device, void* stream, const char* schedule,
                             const int64_t* grid, const heddle_argument* arguments, int32_t count,
                             char* message, size_t size);
}
