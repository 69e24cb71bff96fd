// One walk in program order; the value of each variable at the current point is all it needs, because control
// flow is structured.
#include "codegen/passes/promote_variables.h"

#include <algorithm>
#include <unordered_map>

namespace heddle::codegen {

namespace {

using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Type;
using ir::Value;

struct Variable {
  Value* current;
  Location where;
};

class Promotion {
 public:
  explicit Promotion(ir::Function& function) : function_(function) {}

  void run() {
    find_writes(function_.body);
    region(function_.body);
  }

 private:
  // Fills writes_: for each op with regions, the numbers of the outer variables written in them, ascending.
  void find_writes(const Region& region) {
    for (const Op* op : region.ops) {
      if (op->code == Opcode::variable) {
        const int number = int(variables_.size());
        variables_.push_back({.current = nullptr, .where = op->where});
        numbers_[op->result()] = number;
        declared_in_.push_back(&region);
      } else if (op->code == Opcode::write_variable) {
        const int number = numbers_.at(op->operands[0]);
        // Every op between the write and the declaration carries the variable.
        for (const Region* inside = &region; inside != declared_in_[number];
             inside = inside->parent->parent) {
          std::vector<int>& written = writes_[inside->parent];
          const auto place = std::lower_bound(written.begin(), written.end(), number);
          if (place == written.end() || *place != number) written.insert(place, number);
        }
      } else {
        for (const Region* inner : op->regions) find_writes(*inner);
      }
    }
  }

  Variable& variable(const Value* slot) { return variables_[numbers_.at(slot)]; }

  void region(Region& region) {
    std::vector<Op*> kept;
    kept.reserve(region.ops.size());
    for (Op* op : region.ops) {
      for (Value*& operand : op->operands)
        if (const auto found = reads_.find(operand); found != reads_.end()) operand = found->second;
      switch (op->code) {
        case Opcode::variable: variable(op->result()).current = op->operands[0]; break;
        case Opcode::read_variable: reads_[op->result()] = variable(op->operands[0]).current; break;
        case Opcode::write_variable: variable(op->operands[0]).current = op->operands[1]; break;
        default:
          if (!op->regions.empty()) control(*op);
          kept.push_back(op);
      }
    }
    region.ops = std::move(kept);
  }

  void control(Op& op) {
    const auto found = writes_.find(&op);
    const std::vector<int> carried = found == writes_.end() ? std::vector<int>() : found->second;
    const bool loop = op.code != Opcode::if_else;
    std::vector<Value*> before;
    for (const int number : carried) before.push_back(variables_[number].current);
    if (loop) op.operands.insert(op.operands.end(), before.begin(), before.end());
    for (Region* inner : op.regions) {
      for (size_t i = 0; i < carried.size(); ++i) {
        Variable& variable = variables_[carried[i]];
        variable.current = before[i];
        if (!loop) continue;
        variable.current = function_.add_argument(*inner, before[i]->type);
        variable.current->where = variable.where;
      }
      region(*inner);
      for (const int number : carried) inner->ops.back()->operands.push_back(variables_[number].current);
    }
    for (size_t i = 0; i < carried.size(); ++i)
      variables_[carried[i]].current = function_.add_result(op, before[i]->type);
  }

  ir::Function& function_;
  std::vector<Variable> variables_;  // by number, in the order of declaration
  std::vector<const Region*> declared_in_;
  std::unordered_map<const Value*, int> numbers_;
  std::unordered_map<const Op*, std::vector<int>> writes_;
  std::unordered_map<const Value*, Value*> reads_;
};

}  // namespace

void promote_variables(ir::Function& function) {
  Promotion(function).run();
}

}  // namespace heddle::codegen
