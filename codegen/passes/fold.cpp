// Folding through evaluate.h, so that there is one definition of every op's meaning.
#include "codegen/passes/fold.h"

#include <cmath>
#include <limits>

#include "codegen/ir/evaluate.h"
#include "codegen/ir/print.h"

namespace heddle::codegen {

namespace {

using ir::Opcode;

// Ops that hand a NaN's bits on. What bits other ops give a NaN is the processor's affair, so folding picks
// one: the text must not depend on the machine that folded.
bool keeps_nan_bits(Opcode code) {
  return code == Opcode::neg || code == Opcode::abs || code == Opcode::select || code == Opcode::bitcast;
}

}  // namespace

std::optional<int64_t> constant_of(const ir::Value* value) {
  const ir::Op* op = value->definition;
  if (!op || op->code != Opcode::constant) return {};
  return ir::normalise_payload(value->type.element, op->attribute(0));
}

std::optional<int64_t> fold(const ir::Op& op, const int64_t* operands) {
  const size_t count = op.operands.size();
  if (count == 0 || count > 3) return {};
  const DType from = op.operands.back()->type.element;
  const DType to = op.results[0]->type.element;
  if (!ir::can_evaluate(op.code, from)) return {};
  ir::Lane lanes[3] = {};
  for (size_t i = 0; i < count; ++i)
    lanes[i] = ir::lane_of_payload(op.operands[i]->type.element, operands[i]);
  const int64_t payload = ir::payload_of_lane(to, ir::evaluate(op.code, from, to, lanes));
  if (is_any_float(to) && std::isnan(ir::float_payload(payload)) && !keeps_nan_bits(op.code))
    return ir::constant_payload(to, std::numeric_limits<double>::quiet_NaN());
  return payload;
}

}  // namespace heddle::codegen
