// One round of simplification, in the order of the ops.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Merges equal pure ops wherever they stand (order_by_use places the survivor), merges equal loads with no
// write between them, applies rewrite()'s identities, resolves branches and short loops with known bounds,
// and finds loop state that never changes. A loop marked cuttable stays a loop. Returns whether anything
// changed.
bool simplify(ir::Function& function);

}  // namespace heddle::codegen
