// Puts the compositions of codegen/math/ in the place of the functions they are of.
#include "codegen/passes/expand_math.h"

#include <unordered_map>

#include "codegen/math/expander.h"

namespace heddle::codegen {

namespace {

using ir::Opcode;
using ir::Value;
using math::Range;

using Expansion = Value* (*)(math::Expander&, Value*, Range);

Expansion expansion_of(Opcode code) {
  switch (code) {
#define HEDDLE_EXPANDED(name, ...) \
  case Opcode::name: return math::name;
#include "codegen/ir/ops.def"
    default: return nullptr;
  }
}

// Whether each lane of `bound` is at least that of `value`, or NaN, as far as `depth` ops show.
bool is_upper_bound(const Value* bound, const Value* value, int depth = 8) {
  if (bound == value) return true;
  const ir::Op* op = bound->definition;
  if (!op || depth == 0) return false;
  const auto bounds = [&](const Value* operand) { return is_upper_bound(operand, value, depth - 1); };
  switch (op->code) {
    case Opcode::broadcast: return bounds(op->operands[0]);
    case Opcode::max: return bounds(op->operands[0]) || bounds(op->operands[1]);
    case Opcode::reduce:
      return ir::ReduceKind(op->attribute(0)) == ir::ReduceKind::max && op->operands[0] == value;
    default: return false;
  }
}

// A number less an upper bound of it is what normalised weights are exponentials of.
Range range_of(const Value* value) {
  const ir::Op* op = value->definition;
  const bool below_bound = op && op->code == Opcode::sub && is_upper_bound(op->operands[1], op->operands[0]);
  return below_bound ? Range::not_positive : Range::any;
}

// Rebuilds each region's op list; uses come after definitions, so operands are replaced on the way.
void expand_region(ir::Function& function, ir::Region& region, std::unordered_map<Value*, Value*>& replaced) {
  std::vector<ir::Op*> ops;
  ir::Builder builder(function, region, ops);
  for (ir::Op* op : region.ops) {
    for (Value*& operand : op->operands)
      if (auto found = replaced.find(operand); found != replaced.end()) operand = found->second;
    const Expansion expansion = expansion_of(op->code);
    if (!expansion) {
      ops.push_back(op);
      for (ir::Region* inner : op->regions) expand_region(function, *inner, replaced);
      continue;
    }
    const DType type = op->result()->type.element, computed = type == DType::f64 ? type : DType::f32;
    builder.where = op->where;
    math::Expander expander(builder, op->result()->type, computed);
    Value* argument = builder.cast(op->operands[0], computed);
    replaced[op->result()] = builder.cast(expansion(expander, argument, range_of(op->operands[0])), type);
  }
  region.ops = std::move(ops);
}

}  // namespace

bool has_math(const ir::Function& function) {
  bool found = false;
  ir::walk(function.body, [&](const ir::Op* op) { found = found || expansion_of(op->code); });
  return found;
}

void expand_math(ir::Function& function) {
  std::unordered_map<Value*, Value*> replaced;
  expand_region(function, function.body, replaced);
}

}  // namespace heddle::codegen
