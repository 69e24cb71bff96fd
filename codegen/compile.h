// From a trace to a program that runs: the whole of what runtime/ may know of the code generator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/ir/ir.h"
#include "codegen/ir/schedule.h"
#include "codegen/target.h"

namespace heddle::codegen {

struct KernelSummary;

// A traced kernel in canonical form, with what launches ask of it. Immutable.
class TracedKernel {
 public:
  // Takes a raw trace through promotion, checks and canonicalisation. Throws Error (trace) at the user's
  // line. A probe, whose dims are anybody's, is not among what HEDDLE_DUMP shows.
  static std::unique_ptr<TracedKernel> analyse(std::unique_ptr<ir::Function> raw, bool probe = false);
  virtual ~TracedKernel() = default;
  virtual const ir::Function& function() const = 0;
  virtual const KernelSummary& summary() const = 0;
};

// The values of a launch's arguments, flattened to 8-byte slots (codegen/host/host.h), and where each
// parameter's begin.
struct ArgumentSlots {
  const int64_t* slots;
  const int* first_slot;  // one a parameter
};

// The default rule: a pure function of the kernel, the problem's extents and the machine. `probe` is the
// kernel traced with any binding of its dims. `reasons`, where not null, receives one line for each choice.
Schedule default_schedule(const TracedKernel& probe, ArgumentSlots arguments, const Machine& machine,
                          std::string* reasons = nullptr);

// Number of workers and the WorkParams of one launch. `grid` is the caller's (1,1,1 where unset). Throws
// Error (launch) when a kernel with a work space was given a grid, or one that asks program_id was not.
struct WorkCount {
  int64_t workers = 0;
  int64_t params[8] = {};  // by codegen/schedule/lower.h's WorkParam
};
WorkCount count_work(const TracedKernel& kernel, const Schedule& schedule, ArgumentSlots arguments,
                     const int64_t grid[3], bool grid_set, const Machine& machine, Location where);

// Throws Error (schedule), at the line that bound it where known, if a dim is smaller than an axis of which
// one tile of it must hold all: a schedule may change a kernel's speed, never its results.
void check_covered(const TracedKernel& kernel, const Schedule& schedule, ArgumentSlots arguments,
                   Location where);

// Refuses a schedule that can't be honoured, then applies it; the result is what targets compile, and its
// printed text is the heart of the cache key. Throws Error (schedule).
std::unique_ptr<ir::Function> lower(const TracedKernel& kernel, const Schedule& schedule, Target target,
                                    Location schedule_where);

// A program ready to run on this machine.
class Program {
 public:
  virtual ~Program() = default;
  virtual void run(const int64_t* arguments, const int64_t* work, int64_t worker, char* scratch) const = 0;
  virtual int64_t scratch_bytes() const = 0;
};
std::unique_ptr<Program> interpreter_program(std::unique_ptr<ir::Function> lowered);

// Compiled code as the cache keeps it, and the program made from it.
struct Artifact {
  std::string code;
  int64_t scratch_bytes = 0;
};
Artifact compile(const ir::Function& lowered);            // for this CPU
std::unique_ptr<Program> load(const Artifact& artifact);  // throws Error for code that does not load
std::string device_name();                                // "AMD EPYC 7763 (znver3)"
std::string cache_key_text(const ir::Function& lowered);  // everything the artifact depends on, readable

// The machine program of a lowered kernel; its printed text, with gpu_identity(), is the heart of the cache
// key. Throws Error (schedule) with numbers where it needs more than the device has.
std::unique_ptr<ir::Function> lower_gpu(const ir::Function& lowered, const Schedule& schedule,
                                        const GpuTarget& target, Location schedule_where);
GpuKernel compile_gpu(const ir::Function& program, const GpuTarget& target);
std::string gpu_key_text(const ir::Function& program, const GpuTarget& target);

}  // namespace heddle::codegen
