// check_covered: dims that must hold an axis, against the extents of a launch.
#include "codegen/ir/fail.h"
#include "codegen/schedule/index.h"

namespace heddle::codegen {

void check_covered(const TracedKernel& kernel, const Schedule& schedule, ArgumentSlots arguments,
                   Location where) {
  const ir::Function& function = kernel.function();
  const KernelSummary& summary = kernel.summary();
  for (size_t i = 0; i < summary.dims.size(); ++i) {
    const int64_t tile = function.dims[i].value;
    const std::optional<LongestAxis> longest = longest_covered(summary.dims[i], arguments);
    if (!longest || longest->extent <= tile) continue;
    const DimBinding* binding = schedule.dims.find(summary.dims[i].name);
    fail(
        ErrorKind::schedule, binding && binding->where.known() ? binding->where : where,
        "kernel '{}': one tile of {} must hold all of axis {} of argument {}, which is {} long, and {} = {}; "
        "bind it to {} or more, or give no schedule",
        function.name, summary.dims[i].name, longest->axis.axis, longest->axis.view->index, longest->extent,
        summary.dims[i].name, tile, longest->extent);
  }
}

}  // namespace heddle::codegen
