// What ops mean lane by lane, on LLVM scalars and vectors alike. Must not know where lanes come from.
//
// Registers hold f16, bf16 and the f8 types as integers of their bits, i1 as i1, all else as itself.
#pragma once

#include "codegen/ir/ir.h"
#include "codegen/llvm/lane_builder.h"

namespace heddle::codegen {

// An elementwise op, select or bitcast; `type` is the operands' element type (for select: of its branches).
llvm::Value* lane_op(LaneBuilder& e, ir::Opcode code, DType type, const std::vector<llvm::Value*>& operands);

// One step of a reduction.
llvm::Value* combine(LaneBuilder& e, ir::ReduceKind kind, DType type, llvm::Value* a, llvm::Value* b);

// cast, as docs/language.md defines it.
llvm::Value* convert(LaneBuilder& e, llvm::Value* value, DType from, DType to);

// fma in f32 or f64, also where the processor has none.
llvm::Value* fused_multiply_add(LaneBuilder& e, llvm::Value* a, llvm::Value* b, llvm::Value* c);

// A literal of a constant op.
llvm::Constant* lane_constant(LaneBuilder& e, DType type, int64_t payload);

// How often a loop from `lower` to `upper` by `step` (i64) runs: no sum is formed that could overflow.
llvm::Value* trip_count(llvm::IRBuilder<>& b, llvm::Value* lower, llvm::Value* upper, llvm::Value* step);

// Type with `value`'s number of lanes.
llvm::Type* lanes_like(const llvm::Value* value, llvm::Type* element);

}  // namespace heddle::codegen
