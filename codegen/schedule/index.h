// Scalar i64 expressions over a launch's arguments, computed before the launch: extents of the work space.
#pragma once

#include <optional>

#include "codegen/compile.h"

namespace heddle::codegen {

// The value of `value`, an i64 or i1 scalar that follows from constants, scalar parameters and views' extents
// and strides through pure ops; nothing where it follows from anything else.
std::optional<int64_t> evaluate_index(const ir::Function& function, const ir::Value* value,
                                      ArgumentSlots arguments);

}  // namespace heddle::codegen
