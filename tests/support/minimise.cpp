// Cuts a failing program down: one op at a time goes, and stays away if the failure stays.
#include <algorithm>

#include "codegen/ir/verify.h"
#include "tests/support/random_ir.h"

namespace heddle::test {

namespace {

using ir::Op;
using ir::Opcode;
using ir::Type;
using ir::Value;

std::vector<Op*> all_ops(ir::Function& function) {
  std::vector<Op*> ops;
  ir::walk(function.body, [&](Op* op) { ops.push_back(op); });
  return ops;
}

bool is_used(const ir::Function& function, const Op* op) {
  bool used = false;
  ir::walk(function.body, [&](const Op* user) {
    for (const Value* operand : user->operands) used |= operand->definition == op;
  });
  return used;
}

// Whether a while_loop's end hangs on this op: its condition, or the count it is asked of.
bool ends_loop(const ir::Function& function, const Op* op) {
  bool ends = false;
  ir::walk(function.body, [&](const Op* user) {
    if (user->code == Opcode::yield && user->parent->parent->code == Opcode::while_loop &&
        !user->operands.empty())
      ends |= user->operands[0]->definition == op;
  });
  return ends;
}

// Takes away the op with this number; zeros stand for what it gave. False where that can't be.
bool drop(ir::Function& function, size_t number) {
  Op* op = all_ops(function)[number];
  if (op->code == Opcode::yield || ends_loop(function, op)) return false;
  const bool used = is_used(function, op);
  if (used && op->code == Opcode::constant) return false;
  std::vector<Op*> zeros;
  if (used)
    for (Value* result : op->results) {
      if (result->type.kind != Type::Kind::data) return false;
      Op* zero = function.new_op(Opcode::constant, op->where);
      zero->parent = op->parent;
      zero->attributes = {{.value = 0}};
      ir::replace_uses(function.body, result, function.add_result(*zero, result->type));
      zeros.push_back(zero);
    }
  std::vector<Op*>& siblings = op->parent->ops;
  const auto place = siblings.erase(std::find(siblings.begin(), siblings.end(), op));
  siblings.insert(place, zeros.begin(), zeros.end());
  return true;
}

}  // namespace

std::unique_ptr<ir::Function> minimise(const ir::Function& function,
                                       const std::function<bool(const ir::Function&)>& fails) {
  std::unique_ptr<ir::Function> smallest = ir::clone(function);
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (size_t number = all_ops(*smallest).size(); number-- > 0;) {
      if (number >= all_ops(*smallest).size()) continue;
      std::unique_ptr<ir::Function> candidate = ir::clone(*smallest);
      if (!drop(*candidate, number) || ir::find_fault(*candidate) || !fails(*candidate)) continue;
      smallest = std::move(candidate);
      shrunk = true;
    }
  }
  return smallest;
}

}  // namespace heddle::test
