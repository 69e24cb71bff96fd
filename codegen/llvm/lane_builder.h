// What every emitter of LLVM IR has: a module, a builder, and what the target can do with one lane.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "codegen/ir/dtype.h"

namespace heddle::codegen {

// Instructions a target has; without them a lane's meaning is spelled in others, for the same bits.
struct LaneInstructions {
  bool fma = false;              // fused multiply-add of f32 and f64
  bool half = false;             // f16 from and to f32
  bool half_arithmetic = false;  // on f16 itself
  bool bf16 = false;             // f32 to bf16: NVIDIA's cvt.rn
  bool round = false;            // floor and round-to-even
};

struct LaneBuilder {
  LaneBuilder(llvm::Module& module, LaneInstructions has);

  llvm::Module& module;
  llvm::IRBuilder<> builder;
  LaneInstructions has;

  // As held in registers: f16, bf16 and the f8 types are integers of their bits, i1 is i1.
  llvm::Type* element_type(DType type);
  llvm::Type* memory_type(DType type);  // i8 for i1, else the same
};

}  // namespace heddle::codegen
