// Stores, and loads of single values. What a store reads from memory is read before it writes anything: it is
// put into scratch memory first, unless a test at run time finds that the loads' memory lies apart.
#include <llvm/IR/Intrinsics.h>

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

// The addresses between which a window's lanes lie.
struct Range {
  Value *begin, *end;
};
Range range_of(Emitter& e, const Window& window, int rank, int64_t bytes) {
  auto& b = e.at(0);
  Value* base = b.CreatePtrToInt(window.base, b.getInt64Ty());
  Range range{base, b.CreateAdd(base, e.index(bytes))};
  for (int axis = 0; axis < rank; ++axis) {
    Value* first = b.CreateMul(window.low[size_t(axis)], window.step[size_t(axis)]);
    Value* last = b.CreateMul(b.CreateSub(window.high[size_t(axis)], e.index(1)), window.step[size_t(axis)]);
    range.begin = b.CreateAdd(range.begin, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, first, last));
    range.end = b.CreateAdd(range.end, b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, first, last));
  }
  return range;
}

// Whether no two lanes of a window share memory: of tiles of one axis, or of two of which one's lanes lie
// between those of the other.
Value* lanes_apart(Emitter& e, const Window& window, int rank, int64_t bytes) {
  auto& b = e.at(0);
  if (rank > 2) return b.getFalse();
  auto reach = [&](int axis) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, window.step[size_t(axis)], b.getFalse());
  };
  auto spread = [&](int axis) {
    return b.CreateAdd(b.CreateMul(reach(axis), e.index(window.extents[size_t(axis)] - 1)), e.index(bytes));
  };
  auto separate = [&](int axis) { return b.CreateICmpSGE(reach(axis), e.index(bytes)); };
  if (rank == 1) return separate(0);
  Value* rows = b.CreateAnd(separate(1), b.CreateICmpSGE(reach(0), spread(1)));
  Value* columns = b.CreateAnd(separate(0), b.CreateICmpSGE(reach(1), spread(0)));
  return b.CreateOr(rows, columns);
}

// i1: the store may write a lane as soon as it has evaluated it, because what the value loads lies apart from
// what is stored, or is each time the very lane that is stored. Null where loads are no views.
Value* may_write_at_once(Emitter& e, const ir::Value* value, const Window& window) {
  const int rank = value->type.rank;
  const int64_t bytes = size_bytes(value->type.element);
  const Range stored = range_of(e, window, rank, bytes);
  Value* result = nullptr;
  for (const Plan::Leaf& leaf : e.plan.leaves(value)) {
    if (!e.plan.lazy(leaf.value)) continue;
    const Op* load = leaf.value->definition;
    if (load->code != ir::Opcode::load_view) return nullptr;
    const Window& read = e.windows.at(load);
    const ir::Type& type = leaf.value->type;
    const Range loaded = range_of(e, read, type.rank, size_bytes(type.element));
    auto& b = e.at(0);
    Value* harmless =
        b.CreateOr(b.CreateICmpULE(loaded.end, stored.begin), b.CreateICmpULE(stored.end, loaded.begin));
    if (leaf.same_lane && ir::same_shape(type, value->type) && size_bytes(type.element) == bytes) {
      Value* same = b.CreateAnd(b.CreateICmpEQ(read.base, window.base), lanes_apart(e, window, rank, bytes));
      for (int axis = 0; axis < rank; ++axis)
        same = b.CreateAnd(same, b.CreateICmpEQ(read.step[size_t(axis)], window.step[size_t(axis)]));
      harmless = b.CreateOr(harmless, same);
    }
    result = result ? b.CreateAnd(result, harmless) : harmless;
  }
  return result;
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
  const int lane_bytes = e.plan.of(value).lane_bytes;
  auto store_all_lanes = [&] { for_each_lanes(e, value->type, store_axis(e, op), lane_bytes, store); };
  Value* at_once = nullptr;
  if (e.plan.reads_memory(value) && !e.tiles.count(value)) at_once = may_write_at_once(e, value, window);
  if (!at_once) {
    const Staged staged(e, {value});
    versioned(e, {value}, window.inside, store_all_lanes);
    return;
  }
  llvm::BasicBlock* direct = e.new_block("direct");
  llvm::BasicBlock* overlapping = e.new_block("overlapping");
  llvm::BasicBlock* join = e.new_block("stored");
  e.at(0).CreateCondBr(at_once, direct, overlapping);
  e.levels[0].block = direct;
  versioned(e, {value}, window.inside, store_all_lanes);
  e.at(0).CreateBr(join);
  // Rare: one version serves tiles inside their views and cut ones.
  e.levels[0].block = overlapping;
  const Tile tile = e.allocate(value->type);
  for_each_lanes(e, value->type, inner_axis(value->type), lane_bytes, [&](const Lanes& lanes) {
    store_tile(e, tile, value->type, lanes, evaluate(e, value, lanes));
  });
  e.forget();
  e.tiles[value] = tile;
  store_all_lanes();
  e.tiles.erase(value);
  e.release(tile);
  e.forget();
  e.at(0).CreateBr(join);
  e.levels[0].block = join;
  e.at(0);
}

}  // namespace heddle::codegen::host
