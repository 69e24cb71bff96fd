// What follows from a launch's arguments before the launch: scalar i64 expressions, as extents of the work
// space are, and extents of views.
#pragma once

#include <optional>

#include "codegen/compile.h"
#include "codegen/schedule/summary.h"

namespace heddle::codegen {

// The value of `value`, an i64 or i1 scalar that follows from constants, scalar parameters and views' extents
// and strides through pure ops; nothing where it follows from anything else.
std::optional<int64_t> evaluate_index(const ir::Function& function, const ir::Value* value,
                                      ArgumentSlots arguments);

// The longest of the axes that one tile of `dim` must hold; nothing where it covers none.
struct LongestAxis {
  int64_t extent;
  CoveredAxis axis;
};
std::optional<LongestAxis> longest_covered(const DimSummary& dim, ArgumentSlots arguments);

}  // namespace heddle::codegen
