// The recorder behind the seam: one kernel's function as it grows, the regions that are open, the dims in
// use. One at a time on each thread. Not a public header.
#pragma once

#include <memory>
#include <vector>

#include "codegen/ir/builder.h"
#include "codegen/ir/ir.h"
#include "dsl/record.h"
#include "runtime/launch.h"

namespace heddle::record {

// Lanes a tile may have, and so the largest extent, too.
inline constexpr int64_t kMaxLanes = int64_t(1) << 20;

class Recorder {
 public:
  Recorder(const runtime::KernelSource& source, const runtime::TraceRequest& request,
           const Parameter* parameters, int count);

  // This thread's recorder. Error where no kernel is being traced, and where a loop of the present one was
  // left early.
  static Recorder& current(Location where);
  static Recorder* current_or_null();

  uint32_t trace() const { return trace_; }

  // The value of a handle. Error if it belongs to another trace, or to a region that has closed.
  ir::Value* value(Handle handle, Location use) const;
  record::Handle handle(ir::Value* value);

  // Appends to the innermost open region; ops get `where`.
  ir::Builder& builder(Location where);

  // The number of a dim, which is in use from now on. Error if it isn't bound.
  ir::Extent dim(const char* name, Location use);
  ir::Extent extent(const Extent& extent, Location use);
  ir::Type tile(DType element, const Shape& shape, Location use);
  // `type`, or the Error that it has too many lanes.
  const ir::Type& limited(const ir::Type& type, Location use) const;

  // Regions. `op` is the structured op that `region` belongs to.
  uint32_t open(ir::Op* op, ir::Region* region);
  void close(Handle scope);
  void abandon(Handle scope) noexcept;
  // Ends the region of a while_'s condition and goes on with its body's.
  void turn(Handle scope, ir::Region* region);

  // A when, for its otherwise.
  uint32_t add_branch(ir::Op* op);
  ir::Op* take_branch(uint32_t branch, Location where);

  // The one tile_id of a kernel.
  void claim_work_space(Location where);

  std::unique_ptr<ir::Function> finish();

 private:
  struct OpenRegion {
    uint32_t id;
    ir::Op* op;  // null for the body
    ir::Region* region;
  };
  struct Branch {
    ir::Op* op;
    bool taken;
  };

  void check_bindings() const;
  void check_unused() const;
  void check_abandoned() const;
  Location schedule_line(const DimBinding& binding) const;
  [[noreturn]] void report_outside(const ir::Value& value, Location use) const;

  const runtime::KernelSource& source_;
  const runtime::TraceRequest& request_;
  const uint32_t trace_;
  std::unique_ptr<ir::Function> function_;
  ir::Builder builder_;
  std::vector<ir::Value*> values_;  // by handle
  std::vector<OpenRegion> open_;
  std::vector<Branch> branches_;
  uint32_t next_region_ = 1;
  Location work_space_;
  Location abandoned_;  // the loop or branch that was left early
  bool is_abandoned_ = false;
};

}  // namespace heddle::record
