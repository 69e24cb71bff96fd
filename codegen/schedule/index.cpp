#include "codegen/schedule/index.h"

#include "codegen/ir/evaluate.h"

namespace heddle::codegen {

namespace {

using ir::Lane;
using ir::Opcode;

class Evaluator {
 public:
  Evaluator(const ir::Function& function, ArgumentSlots arguments)
      : function_(function), arguments_(arguments) {}

  std::optional<Lane> lane(const ir::Value* value) const {
    if (value->region == &function_.body)
      return value->type.is_scalar() ? std::optional(slot(value, 0)) : std::nullopt;
    const ir::Op* op = value->definition;
    if (!op || !value->type.is_scalar()) return std::nullopt;
    switch (op->code) {
      case Opcode::constant: return ir::lane_of_payload(value->type.element, op->attribute(0));
      case Opcode::view_extent: return view_field(*op, 1);
      case Opcode::view_stride: return view_field(*op, 1 + op->operands[0]->type.rank);
      default: return computed(*op);
    }
  }

 private:
  Lane slot(const ir::Value* parameter, int offset) const {
    return Lane(arguments_.slots[arguments_.first_slot[parameter->index] + offset]);
  }
  std::optional<Lane> view_field(const ir::Op& op, int first) const {
    if (op.operands[0]->region != &function_.body) return std::nullopt;
    return slot(op.operands[0], first + int(op.attribute(0)));
  }
  std::optional<Lane> computed(const ir::Op& op) const {
    if (op.operands.empty() || op.operands.size() > 3) return std::nullopt;
    const DType operand = op.operands.back()->type.element;
    if (!ir::can_evaluate(op.code, operand)) return std::nullopt;
    Lane lanes[3];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const std::optional<Lane> known = lane(op.operands[i]);
      if (!known) return std::nullopt;
      lanes[i] = *known;
    }
    return ir::evaluate(op.code, operand, op.results[0]->type.element, lanes);
  }

  const ir::Function& function_;
  ArgumentSlots arguments_;
};

}  // namespace

std::optional<int64_t> evaluate_index(const ir::Function& function, const ir::Value* value,
                                      ArgumentSlots arguments) {
  const std::optional<Lane> lane = Evaluator(function, arguments).lane(value);
  return lane ? std::optional(int64_t(*lane)) : std::nullopt;
}

std::optional<LongestAxis> longest_covered(const DimSummary& dim, ArgumentSlots arguments) {
  std::optional<LongestAxis> longest;
  for (const CoveredAxis& covered : dim.covered) {
    const int64_t extent = arguments.slots[arguments.first_slot[covered.view->index] + 1 + covered.axis];
    if (!longest || extent > longest->extent) longest = {extent, covered};
  }
  return longest;
}

}  // namespace heddle::codegen
