// The instructions that multiply tiles on tensor cores, as a table: mma.sync (PTX ISA,
// "Multiply-and-Accumulate Instruction: mma"). Must not know LLVM.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// One instruction of a warp: d[m, n] = a[m, k] b[k, n] + c[m, n]. Its layouts say which element each register
// of each lane holds, as the manual's "Matrix Fragments" do; elements that share a 32-bit register come
// first, from its lowest bits up.
struct MmaInstruction {
  DType operand;     // of a and b
  int sm;            // the least compute capability
  const char* name;  // what follows "mma.sync.aligned."
  ir::Layout a, b, c;

  int64_t m() const { return c.block(0); }
  int64_t n() const { return c.block(1); }
  int64_t k() const { return a.block(1); }
  // Of the operand whose axis `k_axis` is K: 1 for a, 0 for b.
  const ir::Layout& fragment(int k_axis) const { return k_axis == 1 ? a : b; }
};

// All of them; each is known to PTX 8.0.
const std::vector<MmaInstruction>& mma_instructions();

// What multiplies the operands of `dot` on a GPU of compute capability `sm`; null where no row of the table
// has the meaning of the dot, which then is a chain of fma.
const MmaInstruction* mma_for(const ir::Op& dot, int sm);

// What multiplies the operands of an mma, load_fragments or mma_fragments of a machine program; null for a
// chain of fma. The op says it by its `step`, the steps of K taken at once.
const MmaInstruction* mma_of(const ir::Op& op);

// How lanes hold one operand for one instruction's steps of K, as words of 32 bits (load_fragments).
// `accumulator` is the layout of the dot's result.
ir::Layout fragment_words(const MmaInstruction& instruction, int k_axis, const ir::Layout& accumulator);

}  // namespace heddle::codegen
