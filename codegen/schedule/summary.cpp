// KernelSummary: one walk over the kernel for each question.
#include "codegen/schedule/summary.h"

#include "codegen/ir/intern.h"
#include "codegen/schedule/lower.h"

namespace heddle::codegen {

namespace {

using ir::Extent;
using ir::Op;
using ir::Opcode;

bool is_zero(const ir::Value* value) {
  return value->definition && value->definition->code == Opcode::constant &&
         value->definition->attribute(0) == 0;
}

class Roles {
 public:
  explicit Roles(const ir::Function& function) : roles_(function.dims.size()), covers_(function.dims.size()) {
    ir::walk(function.body, [&](const Op* op) { visit(*op); });
    // What every access has at offset 0 must be there as a whole, whatever else is done with it.
    for (size_t dim = 0; dim < roles_.size(); ++dim)
      if (covers_[dim].kind == DimRole::cover) roles_[dim] = covers_[dim];
  }
  const DimRole& operator[](size_t dim) const { return roles_[dim]; }

 private:
  // Stronger claims (later in Kind) win over weaker ones.
  void claim(const Extent& extent, DimRole role) {
    if (extent.dim == Extent::kLiteral) return;
    DimRole& held = roles_[size_t(extent.dim)];
    if (role.kind > held.kind) held = role;
  }

  void visit(const Op& op) {
    switch (op.code) {
      case Opcode::load_view: return access(op, op.results[0]->type, 1);
      case Opcode::store_view: return access(op, op.operands[1]->type, 2);
      case Opcode::arange: return claim(op.results[0]->type.extents[0], {DimRole::block_inner, &op});
      case Opcode::tile_id:
        for (size_t i = 0; i < op.attributes.size(); ++i) {
          walks(op.attributes[i]);
          claim(op.attributes[i],
                {i + 1 == op.attributes.size() ? DimRole::block_inner : DimRole::block_outer, &op});
        }
        return;
      case Opcode::dot:
        claim(op.results[0]->type.extents[0], {DimRole::dot_m, &op});
        claim(op.results[0]->type.extents[1], {DimRole::dot_n, &op});
        claim(op.operands[0]->type.extents[1], {DimRole::dot_k, &op});
        return;
      default: return;
    }
  }

  void access(const Op& op, const ir::Type& tile, int first_offset) {
    const ir::Value* view = op.operands[0];
    const int leading = view->type.rank - tile.rank;
    for (int i = 0; i < tile.rank; ++i) {
      const Extent& extent = tile.extents[i];
      if (extent.dim == Extent::kLiteral) continue;
      const int axis = leading + i;
      DimRole& covers = covers_[size_t(extent.dim)];
      if (!is_zero(op.operands[size_t(first_offset + axis)]))
        walks(extent);
      else if (covers.kind == DimRole::unused)
        covers = {DimRole::cover, &op, view, axis};
      claim(extent, {i + 1 == tile.rank ? DimRole::block_inner : DimRole::block_outer, &op});
    }
  }

  // Some access of this dim starts elsewhere than at 0.
  void walks(const Extent& extent) {
    if (extent.dim != Extent::kLiteral) covers_[size_t(extent.dim)] = {DimRole::block_inner};
  }

  std::vector<DimRole> roles_;
  std::vector<DimRole> covers_;  // by dim: cover, or block_inner once that is out of the question
};

std::vector<const ir::Value*> walked_extents(const ir::Function& function, int dim) {
  std::vector<const ir::Value*> found;
  ir::walk(function.body, [&](const Op* op) {
    if (op->code == Opcode::tile_id)
      for (size_t i = op->attributes.size(); i-- > 0;)
        if (op->attributes[i].dim == dim) found.push_back(op->operands[i]);
    if (op->code == Opcode::for_loop) {
      const Op* step = op->operands[2]->definition;
      if (step && step->code == Opcode::constant && step->attributes[0].dim == dim)
        found.push_back(op->operands[1]);
    }
  });
  return found;
}

}  // namespace

KernelSummary summarise(const ir::Function& function) {
  KernelSummary summary;
  summary.work_space = work_space(function);
  ir::walk(function.body, [&](const Op* op) {
    if (op->code == Opcode::program_id && !summary.program_id) summary.program_id = op;
  });
  const Roles roles(function);
  for (size_t dim = 0; dim < function.dims.size(); ++dim)
    summary.dims.push_back({.name = intern(function.dims[dim].name),
                            .role = roles[dim],
                            .walked = walked_extents(function, int(dim))});
  return summary;
}

}  // namespace heddle::codegen
