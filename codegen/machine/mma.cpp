#include "codegen/machine/mma.h"

#include <algorithm>

namespace heddle::codegen {

using ir::Layout;

namespace {

Layout fragment(std::vector<Layout::Bit> registers, std::vector<Layout::Bit> lanes) {
  return {.rank = 2, .registers = std::move(registers), .lanes = std::move(lanes), .warps = {}};
}

// What the manual calls groupID, the lane's upper three bits, counts rows of a and c, and columns of b;
// threadID_in_group, the lower two, counts along K, or columns of c.
const Layout kAccumulator16x8 = fragment({{1, 0}, {0, 3}}, {{1, 1}, {1, 2}, {0, 0}, {0, 1}, {0, 2}});

MmaInstruction m16n8k16(DType operand, const char* name) {
  return {.operand = operand,
          .sm = 80,
          .name = name,
          .a = fragment({{1, 0}, {0, 3}, {1, 3}}, {{1, 1}, {1, 2}, {0, 0}, {0, 1}, {0, 2}}),
          .b = fragment({{0, 0}, {0, 3}}, {{0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}}),
          .c = kAccumulator16x8};
}

}  // namespace

const std::vector<MmaInstruction>& mma_instructions() {
  static const std::vector<MmaInstruction> table{
      m16n8k16(DType::f16, "m16n8k16.row.col.f32.f16.f16.f32"),
      m16n8k16(DType::bf16, "m16n8k16.row.col.f32.bf16.bf16.f32"),
  };
  return table;
}

const MmaInstruction* mma_for(const ir::Op& dot, int sm) {
  const MmaInstruction* best = nullptr;
  for (const MmaInstruction& row : mma_instructions())
    if (row.operand == dot.operands[0]->type.element && row.sm <= sm) best = &row;
  return best;
}

const MmaInstruction* mma_of(const ir::Op& mma) {
  for (const MmaInstruction& row : mma_instructions())
    if (row.operand == mma.operands[0]->type.element && row.k() == mma.attribute(1)) return &row;
  return nullptr;
}

}  // namespace heddle::codegen
