#include "codegen/passes/fuse_dots.h"

#include <unordered_map>

#include "codegen/passes/fold.h"

namespace heddle::codegen {

namespace {

using ir::Op;
using ir::Opcode;
using ir::Value;

// All lanes +0.
bool is_zero(const Value* value) {
  const Op* op = value->definition;
  if (op && op->code == Opcode::broadcast) return is_zero(op->operands[0]);
  return constant_of(value) == 0;
}

}  // namespace

bool fuse_dots(ir::Function& function) {
  std::unordered_map<const Value*, int> uses;
  bool any = false;
  ir::walk(function.body, [&](const Op* op) {
    any |= op->code == Opcode::dot;
    for (const Value* operand : op->operands) ++uses[operand];
  });
  if (!any) return false;
  bool changed = false;
  ir::walk(function.body, [&](Op* op) {
    if (op->code != Opcode::add) return;
    for (const int side : {1, 0}) {
      const Op* dot = op->operands[side]->definition;
      if (!dot || dot->code != Opcode::dot || dot->parent != op->parent || uses[dot->result()] != 1 ||
          !is_zero(dot->operands[2]))
        continue;
      Value* onto = op->operands[1 - side];
      op->code = Opcode::dot;
      op->operands = {dot->operands[0], dot->operands[1], onto};
      // The old dot is dead, so its operands have lost a use and the new one gained it: counts stay right.
      changed = true;
      return;
    }
  });
  return changed;
}

}  // namespace heddle::codegen
