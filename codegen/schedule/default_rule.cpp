// default_schedule: what a kernel gets when its caller names no schedule. A pure function that can be read in
// five minutes; every choice says its reason.
//
// Dims are sorted by what the kernel does with them; numbers come from the extents they tile, in few steps,
// so that twenty batch sizes do not make twenty kernels.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "codegen/ir/fail.h"
#include "codegen/ir/intern.h"
#include "codegen/schedule/index.h"
#include "codegen/schedule/lower.h"

namespace heddle::codegen {

namespace {

using ir::Extent;
using ir::Op;
using ir::Opcode;

// Tile of a dot on the CPU: operand panels and accumulator of 128 x 128 x 256 f32 take 320 KiB, which a
// second-level cache of 512 KiB holds; fewer steps of K load and store the accumulator more often
// (docs/performance.md).
struct DotTile {
  int64_t m, n, k;
};
constexpr DotTile kCpuDot{128, 128, 256};
// On a GPU: operands of the tensor cores in a ring of stages; parts of 64 x 64 for each of four warps. Types
// that are multiplied by chains of fma take smaller ones, to leave registers for addresses.
constexpr DotTile kGpuDot{128, 128, 32}, kGpuDotFma{64, 64, 16}, kGpuDotF64{64, 32, 16};
// On a CPU, from here on there are tiles enough for every worker at twice the rows and columns, and the
// operands, which no cache holds any more, are packed half as often.
constexpr int64_t kDotLarge = 2048;
// Where the problem has few rows or columns, most of a 128-wide tile would be padding.
constexpr int64_t kDotSmall = 32;
// An elementwise tile: long enough to amortise a worker's start, short enough that temporaries stay in the
// first-level cache.
constexpr int64_t kBlockElements = 4096, kBlockRows = 8;

struct Role {
  enum Kind { unused, block_inner, block_outer, cover, dot_m, dot_n, dot_k } kind = unused;
  const Op* where = nullptr;        // the op that decided
  const ir::Value* view = nullptr;  // cover: the view ...
  int axis = 0;                     // ... and the axis of it that one tile must hold
};

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
      if (covers_[dim].kind == Role::cover) roles_[dim] = covers_[dim];
  }
  const Role& operator[](size_t dim) const { return roles_[dim]; }

 private:
  // Stronger claims (later in Kind) win over weaker ones.
  void claim(const Extent& extent, Role role) {
    if (extent.dim == Extent::kLiteral) return;
    Role& held = roles_[size_t(extent.dim)];
    if (role.kind > held.kind) held = role;
  }

  void visit(const Op& op) {
    switch (op.code) {
      case Opcode::load_view: return access(op, op.results[0]->type, 1);
      case Opcode::store_view: return access(op, op.operands[1]->type, 2);
      case Opcode::arange: return claim(op.results[0]->type.extents[0], {Role::block_inner, &op});
      case Opcode::tile_id:
        for (size_t i = 0; i < op.attributes.size(); ++i) {
          walks(op.attributes[i]);
          claim(op.attributes[i],
                {i + 1 == op.attributes.size() ? Role::block_inner : Role::block_outer, &op});
        }
        return;
      case Opcode::dot:
        claim(op.results[0]->type.extents[0], {Role::dot_m, &op});
        claim(op.results[0]->type.extents[1], {Role::dot_n, &op});
        claim(op.operands[0]->type.extents[1], {Role::dot_k, &op});
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
      Role& covers = covers_[size_t(extent.dim)];
      if (!is_zero(op.operands[size_t(first_offset + axis)]))
        walks(extent);
      else if (covers.kind == Role::unused)
        covers = {Role::cover, &op, view, axis};
      claim(extent, {i + 1 == tile.rank ? Role::block_inner : Role::block_outer, &op});
    }
  }

  // Some access of this dim starts elsewhere than at 0.
  void walks(const Extent& extent) {
    if (extent.dim != Extent::kLiteral) covers_[size_t(extent.dim)] = {Role::block_inner};
  }

  std::vector<Role> roles_;
  std::vector<Role> covers_;  // by dim: cover, or block_inner once that is out of the question
};

// The extent that `dim` walks along: an axis of the work space, or a loop in steps of it.
std::optional<int64_t> walked_extent(const ir::Function& function, int dim, ArgumentSlots arguments) {
  std::optional<int64_t> found;
  ir::walk(function.body, [&](const Op* op) {
    if (found) return;
    if (op->code == Opcode::tile_id)
      for (size_t i = 0; i < op->attributes.size(); ++i)
        if (op->attributes[i].dim == dim) found = evaluate_index(function, op->operands[i], arguments);
    if (op->code == Opcode::for_loop) {
      const Op* step = op->operands[2]->definition;
      if (step && step->code == Opcode::constant && step->attributes[0].dim == dim)
        found = evaluate_index(function, op->operands[1], arguments);
    }
  });
  return found;
}

// The smallest of 16, 20, 24, 28, 32, 40, 48 ... that holds `extent`: at most a quarter is padding.
int64_t cover(int64_t extent) {
  if (extent <= 16) return 16;
  const int64_t step = int64_t(std::bit_floor(uint64_t(extent - 1))) / 4;
  return (extent + step - 1) / step * step;
}

DotTile dot_tile(const Op& dot, Target target) {
  if (target == Target::cpu) return kCpuDot;
  if (dot.results[0]->type.element == DType::f64) return kGpuDotF64;
  const DType operand = dot.operands[0]->type.element;
  return operand == DType::f16 || operand == DType::bf16 ? kGpuDot : kGpuDotFma;
}

class Rule {
 public:
  Rule(const ir::Function& function, ArgumentSlots arguments, const Machine& machine, std::string* reasons)
      : function_(function), arguments_(arguments), machine_(machine), reasons_(reasons), roles_(function) {}

  Schedule choose() {
    for (size_t dim = 0; dim < function_.dims.size(); ++dim) bind(int(dim));
    if (machine_.target == Target::cpu)
      say("work=data_parallel: on a CPU a tile's worker costs less than a persistent worker's bookkeeping "
          "saves");
    else
      say("work=data_parallel: one CTA a tile; the hardware deals them out as multiprocessors fall free");
    return schedule_;
  }

 private:
  void bind(int dim) {
    const Role& role = roles_[size_t(dim)];
    switch (role.kind) {
      case Role::dot_m: return bind_dot(dim, dot_tile(*role.where, machine_.target).m, "rows of a dot");
      case Role::dot_n: return bind_dot(dim, dot_tile(*role.where, machine_.target).n, "columns of a dot");
      case Role::dot_k:
        return set(dim, dot_tile(*role.where, machine_.target).k, "the length of a dot's step");
      case Role::cover: return bind_cover(dim, role);
      case Role::block_outer: return set(dim, kBlockRows, "rows of an elementwise tile");
      case Role::block_inner: return bind_block(dim);
      case Role::unused: return set(dim, kDotSmall, "it tiles nothing");
    }
  }

  void bind_dot(int dim, int64_t usual, const char* what) {
    const std::optional<int64_t> extent = walked_extent(function_, dim, arguments_);
    if (extent && *extent <= kDotSmall)
      set(dim, kDotSmall, fmt::format("{}, and there are only {}", what, *extent));
    else if (machine_.target == Target::cpu && extent && *extent >= kDotLarge)
      set(dim, 2 * usual, fmt::format("{}, of which there are {}", what, *extent));
    else
      set(dim, usual, what);
  }

  void bind_block(int dim) {
    const Op* space = work_space(function_);
    if (space && space->operands.size() == 1)
      set(dim, kBlockElements, "an elementwise tile");
    else
      set(dim, kBlockElements / kBlockRows, "columns of an elementwise tile");
  }

  void bind_cover(int dim, const Role& role) {
    const int64_t extent = arguments_.slots[arguments_.first_slot[role.view->index] + 1 + role.axis];
    set(dim, cover(extent),
        fmt::format("one tile covers axis {} of argument {}, {} long", role.axis, role.view->index, extent));
  }

  void set(int dim, int64_t value, const std::string& why) {
    const char* name = intern(function_.dims[size_t(dim)].name);
    schedule_.dims.add({.name = name, .value = value});
    say(fmt::format("{}={}: {}", name, value, why));
  }

  void say(const std::string& line) {
    if (reasons_) *reasons_ += line + "\n";
  }

  const ir::Function& function_;
  ArgumentSlots arguments_;
  const Machine& machine_;
  std::string* reasons_;
  Roles roles_;
  Schedule schedule_;
};

}  // namespace

Schedule default_schedule(const TracedKernel& probe, ArgumentSlots arguments, const Machine& machine,
                          std::string* reasons) {
  const ir::Function& function = probe.function();
  if (!work_space(function) && !function.dims.empty())
    ir::walk(function.body, [&](const Op* op) {
      if (op->code == Opcode::program_id)
        fail(ErrorKind::schedule, op->where,
             "kernel '{}' asks program_id, so its grid depends on its dims: bind them, as in .with({{.dims = "
             "{{{} = 1024}}}})",
             function.name, function.dims[0].name);
    });
  return Rule(function, arguments, machine, reasons).choose();
}

}  // namespace heddle::codegen
