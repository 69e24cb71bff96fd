// How many registers a kernel will want, as far as its tiles tell.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// The most 32-bit words of tiles, over all threads of a CTA, that some op which needs its operands whole (a
// reduction, a store, a division, a loop) finds alive; a lane takes one, or two if it is wider. Between such
// ops, lanewise ones are done lane after lane: what lives only there costs a few registers, not a tile.
int64_t live_words(const ir::Function& function);

}  // namespace heddle::codegen
