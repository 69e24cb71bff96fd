#include "codegen/machine/verify.h"

#include "codegen/ir/fail.h"

namespace heddle::codegen::machine {

namespace {

using ir::Layout;
using ir::Op;
using ir::Opcode;
using ir::Value;

class Verifier {
 public:
  explicit Verifier(const ir::Function& program) : program_(program) {}

  void run() {
    for (const Layout& layout : program_.layouts)
      if (int64_t(1) << layout.warps.size() != program_.warps)
        fail(ErrorKind::internal, {}, "kernel '{}': a layout spreads over {} warps of {}", program_.name,
             int64_t(1) << layout.warps.size(), program_.warps);
    region(program_.body);
  }

 private:
  [[noreturn]] void complain(const Op& op, const char* what) {
    fail(ErrorKind::internal, op.where, "{} in the machine program of '{}': {}", ir::info(op.code).name,
         program_.name, what);
  }

  static bool is_tile(const Value* value) {
    return value->type.rank > 0 &&
           (value->type.kind == ir::Type::Kind::data || value->type.kind == ir::Type::Kind::pointer);
  }

  const Layout& layout(const Op& op, const Value* value) {
    if (value->type.layout < 0 || size_t(value->type.layout) >= program_.layouts.size())
      complain(op, "a tile is not laid out");
    const Layout& found = program_.layouts[size_t(value->type.layout)];
    if (found.rank != value->type.rank) complain(op, "a tile's layout has another rank");
    for (int axis = 0; axis < found.rank; ++axis)
      if (found.covered(axis) < value->type.extents[size_t(axis)].value)
        complain(op, "a layout does not cover its tile");
    return found;
  }

  void same(const Op& op, const Value* a, const Value* b) {
    if (is_tile(a) && is_tile(b) && layout(op, a) != layout(op, b))
      complain(op, "operands and result differ in layout");
  }

  void region(const ir::Region& region) {
    for (const Op* op : region.ops) {
      check(*op);
      for (const ir::Region* inner : op->regions) this->region(*inner);
    }
  }

  void check(const Op& op) {
    for (const Value* result : op.results)
      if (is_tile(result)) layout(op, result);
    const Value* result = op.results.empty() ? nullptr : op.results[0];
    const bool moves = result && is_tile(result) && !op.operands.empty() && is_tile(op.operands[0]);
    switch (op.code) {
      case Opcode::expand:
        if (moves && layout(op, op.operands[0]) != ir::without_axis(layout(op, result), int(op.attribute(0))))
          complain(op, "the operand's layout does not follow from the result's");
        return;
      case Opcode::squeeze:
        if (moves && layout(op, op.operands[0]) != ir::with_axis(layout(op, result), int(op.attribute(0))))
          complain(op, "the operand's layout does not follow from the result's");
        return;
      case Opcode::transpose:
        if (layout(op, op.operands[0]) != ir::transposed(layout(op, result)))
          complain(op, "the operand's layout does not follow from the result's");
        return;
      case Opcode::reduce:
        if (layout(op, result) != ir::collapsed(layout(op, op.operands[0]), int(op.attribute(1))))
          complain(op, "the result's layout does not follow from the operand's");
        return;
      case Opcode::yield:  // its op looks at it
      case Opcode::broadcast:
      case Opcode::load_view:
      case Opcode::load_shared:
      case Opcode::load_fragments: return;
      case Opcode::mma: return same(op, op.operands[4], result);
      case Opcode::mma_fragments: return same(op, op.operands[2], result);
      case Opcode::for_loop:
        for (size_t i = 0; i < op.results.size(); ++i) {
          same(op, op.results[i], op.operands[3 + i]);
          same(op, op.results[i], op.regions[0]->arguments[1 + i]);
          same(op, op.results[i], op.regions[0]->ops.back()->operands[i]);
        }
        return;
      case Opcode::while_loop:
        for (size_t i = 0; i < op.results.size(); ++i) {
          same(op, op.results[i], op.operands[i]);
          same(op, op.results[i], op.regions[0]->ops.back()->operands[1 + i]);
          same(op, op.results[i], op.regions[1]->ops.back()->operands[i]);
        }
        return;
      case Opcode::if_else:
        for (size_t i = 0; i < op.results.size(); ++i)
          for (const ir::Region* side : op.regions) same(op, op.results[i], side->ops.back()->operands[i]);
        return;
      default:
        for (const Value* operand : op.operands)
          for (const Value* other : op.operands) same(op, operand, other);
        if (result)
          for (const Value* operand : op.operands) same(op, operand, result);
    }
  }

  const ir::Function& program_;
};

}  // namespace

void verify_layouts(const ir::Function& program) {
  Verifier(program).run();
}

}  // namespace heddle::codegen::machine
