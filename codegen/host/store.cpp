// Stores, and loads of single values. What a store reads from memory is read before it writes anything.
#include "codegen/host/control.h"
#include "codegen/host/evaluate.h"

namespace heddle::codegen::host {

using ir::Op;
using llvm::Value;

namespace {

// While one lives, operands that read memory stand in scratch.
class Staged {
 public:
  Staged(Emitter& e, std::vector<const ir::Value*> operands) : e_(e) {
    for (const ir::Value* operand : operands) {
      if (!operand || !is_tile_value(operand) || !e.plan.reads_memory(operand) || e.tiles.count(operand))
        continue;
      const Tile tile = e.allocate(operand->type);
      materialise(e, operand, tile);
      staged_.push_back({operand, tile});
    }
    for (const Owned& staged : staged_) e.tiles[staged.value] = staged.tile;
  }
  Staged(const Staged&) = delete;
  ~Staged() {
    for (const Owned& staged : staged_) {
      e_.tiles.erase(staged.value);
      e_.release(staged.tile);
    }
  }

 private:
  Emitter& e_;
  std::vector<Owned> staged_;
};

Lanes one_lane() {
  return {.rank = 0, .axis = -1, .width = 1, .valid = 1};
}

// The tile axis along which a view is contiguous, if that is known and worth following; else the tile's own.
int store_axis(const Emitter& e, const Op* op) {
  const ir::Value *view = op->operands[0], *value = op->operands[1];
  for (const ir::Parameter& parameter : e.function.parameters)
    if (parameter.value == view && parameter.facts.unit_stride_axis >= 0) {
      const int axis = parameter.facts.unit_stride_axis - (view->type.rank - value->type.rank);
      if (axis >= 0 && value->type.extents[size_t(axis)].value > 1) return axis;
    }
  return inner_axis(value->type);
}

}  // namespace

void emit_load_scalar(Emitter& e, const Op* op) {
  const ir::Value* result = op->result();
  const Lanes lanes = one_lane();
  if (op->code == ir::Opcode::load_view) {
    const Window& window = e.windows.at(op);
    Value* fill = op->attribute(0) ? e.scalar(op->operands.back()) : nullptr;
    e.scalars[result] = load_lanes(e, 0, result->type.element, window_access(e, window, lanes), lanes,
                                   window_guard(e, window, lanes), fill);
    return;
  }
  const auto& operands = op->operands;
  const Access access = pointer_access(e, operands[0], lanes);
  const Guard guard = mask_guard(e, operands.size() > 1 ? e.scalar(operands[1]) : nullptr, lanes);
  Value* fill = operands.size() > 2 ? e.scalar(operands[2]) : nullptr;
  e.scalars[result] = load_lanes(e, 0, result->type.element, access, lanes, guard, fill);
}

void emit_store(Emitter& e, const Op* op) {
  const ir::Value *pointers = op->operands[0], *value = op->operands[1];
  const ir::Value* mask = op->operands.size() > 2 ? op->operands[2] : nullptr;
  const DType element = value->type.element;
  auto store = [&](const Lanes& lanes) {
    Value* stored = evaluate(e, value, lanes);
    Value* wanted = mask ? evaluate(e, mask, lanes) : nullptr;
    const Access access = pointer_access(e, pointers, lanes);
    store_lanes(e, lanes.level(), element, access, lanes, mask_guard(e, wanted, lanes), stored);
  };
  if (value->type.rank == 0) return store(one_lane());
  const Staged staged(e, {pointers, value, mask});
  std::vector<const ir::Value*> parts{pointers, value};
  int lane_bytes = std::max(e.plan.of(value).lane_bytes, e.plan.of(pointers).lane_bytes);
  if (mask) {
    parts.push_back(mask);
    lane_bytes = std::max(lane_bytes, e.plan.of(mask).lane_bytes);
  }
  versioned(e, parts, nullptr,
            [&] { for_each_lanes(e, value->type, inner_axis(value->type), lane_bytes, store); });
}

void emit_store_view(Emitter& e, const Op* op) {
  const ir::Value* value = op->operands[1];
  const Window window = make_window(e, op);
  auto store = [&](const Lanes& lanes) {
    Value* stored = evaluate(e, value, lanes);
    const Access access = window_access(e, window, lanes);
    const Guard guard = window_guard(e, window, lanes);
    store_lanes(e, lanes.level(), value->type.element, access, lanes, guard, stored);
  };
  if (value->type.rank == 0) return store(one_lane());
  const Staged staged(e, {value});
  versioned(e, {value}, window.inside,
            [&] { for_each_lanes(e, value->type, store_axis(e, op), e.plan.of(value).lane_bytes, store); });
}

}  // namespace heddle::codegen::host
