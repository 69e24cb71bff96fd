// Adding a dot to something continues that something's chain of fused multiply-adds.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Turns c + dot(a, b, 0) into dot(a, b, c) where the dot has no other use and stands in the same region. This
// is the language's meaning of adding a dot (docs/language.md), not an optimisation: the result is rounded
// differently. Of two dots added to each other the second continues the first. Returns whether anything
// changed.
bool fuse_dots(ir::Function& function);

}  // namespace heddle::codegen
