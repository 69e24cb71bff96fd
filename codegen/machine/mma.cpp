#include "codegen/machine/mma.h"

#include <algorithm>
#include <bit>

namespace heddle::codegen {

using ir::Layout;

namespace {

Layout fragment(std::vector<Layout::Bit> registers, std::vector<Layout::Bit> lanes) {
  return {.rank = 2, .registers = std::move(registers), .lanes = std::move(lanes), .warps = {}};
}

// What the manual calls groupID, the lane's upper three bits, counts rows of a and c, and columns of b;
// threadID_in_group, the lower two, counts along K, or columns of c.
const Layout kC16x8 = fragment({{1, 0}, {0, 3}}, {{1, 1}, {1, 2}, {0, 0}, {0, 1}, {0, 2}});

const Layout kA16x16 = fragment({{1, 0}, {0, 3}, {1, 3}}, {{1, 1}, {1, 2}, {0, 0}, {0, 1}, {0, 2}});
const Layout kB16x8 = fragment({{0, 0}, {0, 3}}, {{0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}});
const Layout kA16x32 = fragment({{1, 0}, {1, 1}, {0, 3}, {1, 4}}, {{1, 2}, {1, 3}, {0, 0}, {0, 1}, {0, 2}});
const Layout kB32x8 = fragment({{0, 0}, {0, 1}, {0, 4}}, {{0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}});

}  // namespace

const std::vector<MmaInstruction>& mma_instructions() {
  static const std::vector<MmaInstruction> table{
      {DType::f16, 80, "m16n8k16.row.col.f32.f16.f16.f32", kA16x16, kB16x8, kC16x8},
      {DType::bf16, 80, "m16n8k16.row.col.f32.bf16.bf16.f32", kA16x16, kB16x8, kC16x8},
      {DType::i8, 80, "m16n8k32.row.col.s32.s8.s8.s32", kA16x32, kB32x8, kC16x8},
  };
  return table;
}

const MmaInstruction* mma_for(const ir::Op& dot, int sm) {
  const MmaInstruction* best = nullptr;
  for (const MmaInstruction& row : mma_instructions())
    if (row.operand == dot.operands[0]->type.element && row.sm <= sm) best = &row;
  return best;
}

const MmaInstruction* mma_of(const ir::Op& op) {
  const DType element =
      op.code == ir::Opcode::mma_fragments ? DType(op.attribute(0)) : op.operands[0]->type.element;
  for (const MmaInstruction& row : mma_instructions())
    if (row.operand == element && row.k() == op.attribute(1)) return &row;
  return nullptr;
}

ir::Layout fragment_words(const MmaInstruction& instruction, int k_axis, const Layout& accumulator) {
  Layout layout = instruction.fragment(k_axis);
  const int shared = std::countr_zero(4 / uint64_t(size_bytes(instruction.operand)));  // bits within a word
  layout.registers.erase(layout.registers.begin(), layout.registers.begin() + shared);
  for (std::vector<Layout::Bit>* bits : {&layout.registers, &layout.lanes})
    for (Layout::Bit& bit : *bits)
      if (bit.axis == k_axis) bit.shift = int8_t(bit.shift - shared);
  for (const Layout::Bit& bit : accumulator.warps)
    layout.warps.push_back(bit.axis == 1 - k_axis ? bit : Layout::Bit{});
  layout.repeat[size_t(1 - k_axis)] = accumulator.repeat[size_t(1 - k_axis)];
  return layout;
}

}  // namespace heddle::codegen
