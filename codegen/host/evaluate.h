// The value of an expression at given lanes.
#pragma once

#include "codegen/host/emitter.h"
#include "codegen/host/memory.h"

namespace heddle::codegen::host {

// Of a tile or scalar of data. The code goes to the outermost level where the lanes are known.
llvm::Value* evaluate(Emitter& e, const ir::Value* value, const Lanes& lanes);

// Where a tile of pointers points, with its regularity kept: a uniform base, a uniform step.
Access pointer_access(Emitter& e, const ir::Value* pointers, const Lanes& lanes);

// Evaluates a tile value over all its lanes into `tile`.
void materialise(Emitter& e, const ir::Value* value, const Tile& tile);

}  // namespace heddle::codegen::host
