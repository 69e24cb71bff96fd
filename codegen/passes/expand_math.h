// Rewrites exp, exp2, log, tanh, erf and sigmoid into the other ops of the table, so that every target
// computes them alike, to the bit, and none needs a library. docs/math.md states their accuracy.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Whether expand_math has something to do.
bool has_math(const ir::Function& function);

// f16 and bf16 are computed in f32 and rounded at the end. Throws Error (unsupported) at the op's line for
// f64.
void expand_math(ir::Function& function);

}  // namespace heddle::codegen
