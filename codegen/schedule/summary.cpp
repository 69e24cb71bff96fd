// KernelSummary: one walk over the kernel for each question.
#include "codegen/schedule/summary.h"

#include <algorithm>
#include <utility>

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
  explicit Roles(const ir::Function& function) : roles_(function.dims.size()), held_(function.dims.size()) {
    ir::walk(function.body, [&](const Op* op) { visit(*op); });
    // What every access has at offset 0 must be there as a whole, whatever else is done with it.
    for (size_t dim = 0; dim < roles_.size(); ++dim) {
      if (held_[dim].walks) held_[dim].axes.clear();
      if (!held_[dim].axes.empty()) roles_[dim] = {DimRole::cover, held_[dim].first};
    }
  }
  const DimRole& role(size_t dim) const { return roles_[dim]; }
  std::vector<CoveredAxis>& covered(size_t dim) { return held_[dim].axes; }

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
      if (is_zero(op.operands[size_t(first_offset + axis)]))
        holds(extent, op, {view, axis});
      else
        walks(extent);
      claim(extent, {i + 1 == tile.rank ? DimRole::block_inner : DimRole::block_outer, &op});
    }
  }

  void walks(const Extent& extent) {
    if (extent.dim != Extent::kLiteral) held_[size_t(extent.dim)].walks = true;
  }

  void holds(const Extent& extent, const Op& op, CoveredAxis axis) {
    Held& held = held_[size_t(extent.dim)];
    if (held.axes.empty()) held.first = &op;
    const bool known = std::any_of(held.axes.begin(), held.axes.end(), [&](const CoveredAxis& other) {
      return other.view == axis.view && other.axis == axis.axis;
    });
    if (!known) held.axes.push_back(axis);
  }

  struct Held {
    bool walks = false;             // some access starts elsewhere than at 0, ...
    std::vector<CoveredAxis> axes;  // ... and these start there
    const Op* first = nullptr;
  };
  std::vector<DimRole> roles_;
  std::vector<Held> held_;  // by dim, as roles_
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
  Roles roles(function);
  for (size_t dim = 0; dim < function.dims.size(); ++dim)
    summary.dims.push_back({.name = intern(function.dims[dim].name),
                            .role = roles.role(dim),
                            .covered = std::move(roles.covered(dim)),
                            .walked = walked_extents(function, int(dim))});
  return summary;
}

}  // namespace heddle::codegen
