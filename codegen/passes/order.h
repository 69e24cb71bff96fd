// Puts ops in their canonical place: a function of the graph alone, whatever order they were recorded in.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Writes, and control ops that hold a write, keep their order. Everything else follows its first use, depth
// first, operands in order:
//   - Reads, and control ops that only read, stay in their region and between the writes they stood between.
//   - Pure ops move to where they run least often: out of every loop that their operands don't need, and then
//   as far
//     inwards as all of their uses allow. All pure ops are total, so they may run where they were not
//     written. Only questions about the launch (tile_id, program_id, view extents, ...) never move inwards.
// Ops that nothing uses are dropped. Wants the ops to be such that definitions precede uses in the printed
// order; they need not dominate them.
//
// This is what makes nested, named and `auto` spellings, and compilers that evaluate arguments in different
// orders, give one text, and it is loop-invariant code motion besides.
void order_by_use(ir::Function& function);

// Whether `op` writes memory, itself or inside.
bool writes(const ir::Op& op);

}  // namespace heddle::codegen
