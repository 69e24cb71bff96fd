// The inner loop of dot: a block of C held in registers, updated by outer products of a column of A and a row
// of B, k ascending, by fma. One small function for each shape of block.
#pragma once

#include "codegen/host/emitter.h"

namespace heddle::codegen::host {

// Everything that shapes the code. Strides and pitches in elements.
struct MicroKernel {
  DType type = DType::f32;  // f32, f64 or i32
  int rows = 1;             // of C
  int vectors = 1;          // of C in a row
  int width = 1;            // lanes of a vector
  int64_t depth = 1;        // K
  int64_t a_row = 0, a_k = 0;
  int64_t b_k = 0;  // a row of B's panel: vectors * width, or more
  int64_t c_row = 0;
};

// A function (a, b, c pointers) that adds A*B to C.
llvm::Function* micro_kernel(Emitter& e, const MicroKernel& shape);

// How this processor's registers are best used.
struct BlockShape {
  int rows, vectors;
};
BlockShape block_shape(const Cpu& cpu, DType type);

}  // namespace heddle::codegen::host
