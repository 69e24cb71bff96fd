// Computes ops that act lane by lane: the elementwise rows of ops.def that have a meaning, select, cast and
// bitcast. Constant folding and the interpreter share it. Knows nothing of shapes, memory or control.
#pragma once

#include <cstdint>

#include "codegen/ir/ir.h"
#include "codegen/ir/lane.h"

namespace heddle::ir {

// Whether evaluate() can compute `code` on operands of `operand`: an elementwise op in its domain that needs
// no expand_math, or select, cast, bitcast.
bool can_evaluate(Opcode code, DType operand);

// One lane. `operand` is the operands' element type (of select: that of its last two), `result` the result's;
// `lanes` holds one lane an operand, in order. Fails (internal) where can_evaluate() is false.
Lane evaluate(Opcode code, DType operand, DType result, const Lane* lanes);

// The same for `count` lanes: operands[k][i] → results[i]. `results` may be one of the operands.
void evaluate(Opcode code, DType operand, DType result, const Lane* const* operands, Lane* results,
              int64_t count);

// A constant op's payload (an integer, or the bits of a float's value as f64) as a lane, and back. Exact.
Lane lane_of_payload(DType type, int64_t payload);
int64_t payload_of_lane(DType type, Lane lane);

}  // namespace heddle::ir
