// Rewrites the table's HEDDLE_EXPANDED functions, exp and its kin, into its other ops, so that every target
// computes them alike, to the bit, and none needs a library. docs/math.md states their accuracy.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Whether expand_math has something to do.
bool has_math(const ir::Function& function);

// f16 and bf16 are computed in f32 and rounded at the end.
void expand_math(ir::Function& function);

}  // namespace heddle::codegen
