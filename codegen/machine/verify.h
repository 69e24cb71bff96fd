// Checks of a machine program's layouts: what the IR's verifier does not look at.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen::machine {

// Every tile is laid out over the CTA's threads and covered by its layout; ops that act in place have
// operands in the layout that their result's implies. Throws Error (internal) naming the op.
void verify_layouts(const ir::Function& program);

}  // namespace heddle::codegen::machine
