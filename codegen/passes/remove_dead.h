// Drops what has no bearing on memory: ops, and loop or branch state.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Returns whether anything was dropped. A loop's state is dropped when neither the loop's result nor anything
// but the state's own next value needs it. A loop without effect goes even if it might not end.
bool remove_dead(ir::Function& function);

}  // namespace heddle::codegen
