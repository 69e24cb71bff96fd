// One form for everything that means the same and is spelled alike: what the cache hashes, what targets
// compile.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Simplifies, merges equal ops, moves invariant ops out of loops, drops dead ones and orders by use, until
// nothing changes. Doing it again changes nothing. The text of the result does not depend on the order in
// which independent ops were recorded. Wants no variables; works at the tile and scheduled levels.
void canonicalise(ir::Function& function);

}  // namespace heddle::codegen
