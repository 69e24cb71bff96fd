// The one door from the DSL to the run time: a kernel's identity, its arguments, a launch. Public, light and
// opaque: nothing here names the compiler.
#pragma once

#include <cstdint>

#include "codegen/ir/dtype.h"
#include "codegen/ir/export.h"
#include "codegen/ir/location.h"
#include "codegen/ir/schedule.h"
#include "runtime/stream.h"

namespace heddle::ir {
class Function;
}

namespace heddle::runtime {

inline constexpr int kMaxViewRank = 5;

// One launch argument, as the DSL packs it from a typed C++ value.
struct Argument {
  enum class Kind : uint8_t { pointer, view, scalar };
  Kind kind = Kind::scalar;
  DType element = DType::f32;
  uint8_t rank = 0;               // of a view
  bool read_only = false;         // element type was const
  uint64_t bits = 0;              // address, or the scalar's own bits in the low bytes
  int64_t extents[kMaxViewRank];  // of a view, the first `rank`: a launch packs no more than it needs
  int64_t strides[kMaxViewRank];  // in elements; any sign
};

// What a trace may know about an argument beyond its type: yes/no facts only.
struct ArgumentFacts {
  int8_t unit_stride_axis = -1;  // of a view; -1 = none known
  bool aligned16 = false;
};

// Everything a trace depends on besides the body.
struct TraceRequest {
  const Dims* dims;            // every dim the body names must be bound here ...
  int64_t unbound_dim_value;   // ... unless this is positive: the number the others take (used to look at a
                               // body first)
  const ArgumentFacts* facts;  // one an argument, or null
  Location schedule_where;     // where the schedule was given, for messages
};

// A kernel written in the DSL. Lives at least as long as the Kernel object that holds it.
struct KernelSource {
  const char* name;
  Location where;
  const void* body;  // the C++ function object
  ir::Function* (*trace)(const KernelSource&,
                         const TraceRequest&);  // records the body; the caller owns the result
};

// Compiled variants of one kernel, found again without locks. Opaque.
struct KernelState;

// Number of program instances along each axis, for kernels that ask program_id. Unset for kernels with a
// tile_id.
struct Grid {
  int64_t x = 1, y = 1, z = 1;
  bool set = false;
};

// Whether a launch runs the kernel, or only makes all that running it needs.
enum class Purpose : uint8_t { run, prepare };

// Runs `source` once over `arguments`. Compiles on first use of a combination. `schedule` null = chosen by
// rule. `state` belongs to the Kernel object; starts as null. Throws Error; then nothing was written but what
// other workers of a failing kernel had stored already.
HEDDLE_API void launch(const KernelSource& source, KernelState*& state, const Schedule* schedule, Grid grid,
                       Stream& stream, const Argument* arguments, int count, Location where,
                       Purpose purpose = Purpose::run);
HEDDLE_API void destroy(KernelState* state) noexcept;

// What a GPU's assembler made of a kernel. Bytes of spills are -1 where it does not tell.
struct GpuCode {
  const char* assembler = "";      // "ptxas 13.0.88", "driver 12.8"; interned
  int registers = -1;              // of a thread
  int64_t stack_bytes = -1;        // of a thread, in local memory
  int64_t spill_store_bytes = -1;  // moved to local memory, for lack of registers, by instructions of the
  int64_t spill_load_bytes = -1;   // code, and back
  int64_t shared_bytes = -1;       // of a CTA
};
// "64 registers, 0 bytes spilled, 48.0 KiB shared, by ptxas 13.0.88"; interned.
HEDDLE_API const char* describe(const GpuCode& code);

// What the last launch of this kernel on the calling thread cost and found; for samples and tests.
struct LaunchReport {
  double trace_ms = 0;          // tracing and passes
  double compile_ms = 0;        // all of what follows
  double codegen_ms = 0;        // to PTX or object code, or looking that up in the cache
  double assemble_ms = 0;       // a GPU's PTX to a cubin, or looking that up
  double load_ms = 0;           // into this process or the driver
  bool cache_hit = false;       // the code came from disk
  bool compiled_now = false;    // this launch had to trace and compile or load
  const char* cache_path = "";  // interned; empty if the cache is off or unusable
  GpuCode gpu;                  // that this launch made or loaded; no assembler: none
  Schedule schedule;            // that was used
};
HEDDLE_API LaunchReport last_launch();

}  // namespace heddle::runtime
