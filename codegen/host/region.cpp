// Ops one after another; which memory their tiles take and give back.
#include <algorithm>

#include "codegen/host/control.h"
#include "codegen/host/evaluate.h"
#include "codegen/ir/fail.h"
#include "codegen/llvm/lane_ops.h"

namespace heddle::codegen::host {

using ir::Op;
using ir::Opcode;
using llvm::Value;

namespace {

// Ops whose results are scalars: made where they stand.
void emit_scalar(Emitter& e, const Op* op) {
  auto& b = e.at(0);
  const ir::Value* result = op->result();
  const DType element = result->type.element;
  auto operand = [&](size_t i) { return e.scalar(op->operands[i]); };
  auto set = [&](Value* value) { e.scalars[result] = value; };
  switch (op->code) {
    case Opcode::constant: return set(lane_constant(e, element, op->attribute(0)));
    case Opcode::cast: return set(convert(e, operand(0), op->operands[0]->type.element, element));
    case Opcode::bitcast: return set(b.CreateBitCast(operand(0), e.element_type(element)));
    case Opcode::broadcast: return set(operand(0));
    case Opcode::view_extent: return set(e.views.at(op->operands[0]).extents[size_t(op->attribute(0))]);
    case Opcode::view_stride: return set(e.views.at(op->operands[0]).strides[size_t(op->attribute(0))]);
    case Opcode::worker_id: return set(e.worker);
    case Opcode::work_param: {
      Value* address = b.CreateConstInBoundsGEP1_64(b.getInt64Ty(), e.work, uint64_t(op->attribute(0)));
      return set(b.CreateLoad(b.getInt64Ty(), address));
    }
    case Opcode::pointer_add:
      return set(
          b.CreateGEP(b.getInt8Ty(), operand(0), b.CreateMul(operand(1), e.index(size_bytes(element)))));
    case Opcode::squeeze: {
      Lanes lanes{.rank = 1};
      lanes.index[0] = {e.index(0), 0};
      e.forget();
      if (result->type.kind == ir::Type::Kind::pointer)
        return set(pointer_access(e, op->operands[0], lanes).base);
      return set(evaluate(e, op->operands[0], lanes));
    }
    default: break;
  }
  if (!ir::info(op->code).elementwise && op->code != Opcode::select)
    fail(ErrorKind::internal, op->where, "the host target can't compile the op {}", ir::info(op->code).name);
  std::vector<Value*> operands;
  for (size_t i = 0; i < op->operands.size(); ++i) operands.push_back(operand(i));
  set(lane_op(e, op->code, op->operands.back()->type.element, operands));
}

void emit_op(Emitter& e, const Op* op) {
  switch (op->code) {
    case Opcode::for_loop: return emit_for(e, op);
    case Opcode::if_else: return emit_if(e, op);
    case Opcode::while_loop: return emit_while(e, op);
    case Opcode::store: return emit_store(e, op);
    case Opcode::store_view: return emit_store_view(e, op);
    default: break;
  }
  if (op->results.size() != 1)
    fail(ErrorKind::internal, op->where, "the host target can't compile the op {}", ir::info(op->code).name);
  const ir::Value* result = op->result();
  if (is_tile_value(result) && !e.plan.used(result)) return;
  if (op->code == Opcode::load_view) e.windows.emplace(op, make_window(e, op));
  if (!is_tile_value(result)) {
    if (op->code == Opcode::load || op->code == Opcode::load_view) return emit_load_scalar(e, op);
    return emit_scalar(e, op);
  }
  if (op->code == Opcode::reduce) return emit_reduce(e, op);
  if (op->code == Opcode::dot) return emit_dot(e, op);
  if (e.plan.lazy(result)) return;
  const Tile tile = e.preferred.count(result) ? e.preferred.at(result) : e.allocate(result->type);
  materialise(e, result, tile);
  keep(e, result, tile);
}

// Whether two tiles are the same memory.
bool same(const Tile& a, const Tile& b) {
  return a.offset == b.offset;
}

void copy_tile(Emitter& e, const ir::Type& type, const Tile& from, const Tile& to) {
  e.forget();
  const int bytes =
      type.element == DType::i64 || type.kind == ir::Type::Kind::pointer ? 4 : from.element_bytes;
  for_each_lanes(e, type, inner_axis(type), bytes, [&](const Lanes& lanes) {
    store_tile(e, to, type, lanes, load_tile(e, from, type, lanes));
  });
}

}  // namespace

void keep(Emitter& e, const ir::Value* value, const Tile& tile) {
  e.tiles[value] = tile;
  if (!e.preferred.count(value)) e.owned.push_back({value, tile});
}

void emit_region(Emitter& e, const ir::Region& region, const std::function<void(const Op*)>& on_yield) {
  const size_t first_owned = e.owned.size();
  for (const Op* op : region.ops) {
    if (op->code == Opcode::yield)
      on_yield(op);
    else
      emit_op(e, op);
    const int position = e.plan.position(op);
    auto dead = [&](const Owned& owned) { return e.plan.of(owned.value).last_use <= position; };
    for (size_t i = first_owned; i < e.owned.size(); ++i)
      if (dead(e.owned[i])) e.release(e.owned[i].tile);
    e.owned.erase(std::remove_if(e.owned.begin() + ptrdiff_t(first_owned), e.owned.end(), dead),
                  e.owned.end());
  }
}

Tile claim(Emitter& e, const ir::Value* value) {
  const auto preferred = e.preferred.find(value);
  const Tile tile = preferred != e.preferred.end() ? preferred->second : e.allocate(value->type);
  keep(e, value, tile);
  return tile;
}

Tile claim_from(Emitter& e, const ir::Value* value, const ir::Value* source) {
  const Op* op = value->definition;
  if (e.preferred.count(value) || ir::home(source) != op->parent ||
      e.plan.of(source).last_use != e.plan.position(op))
    return claim(e, value);
  // The op may read its source elsewhere too. Of a dot the other operands are packed first; else it must not.
  if (op->code != Opcode::dot) {
    for (const Op* sink : e.plan.of(source).sinks)
      if (sink != op && ancestor_in(sink, op->parent) == op) return claim(e, value);
    int uses = 0;
    for (const ir::Value* operand : op->operands)
      for (const Plan::Leaf& leaf : e.plan.leaves(operand)) uses += leaf.value == source;
    if (uses != 1) return claim(e, value);
  }
  for (Owned& owned : e.owned)
    if (owned.value == source) {
      owned.value = value;
      e.tiles[value] = owned.tile;
      return owned.tile;
    }
  return claim(e, value);
}

void assign(Emitter& e, std::vector<std::pair<const ir::Value*, Tile>> list) {
  struct Pending {
    const ir::Value* value;
    Tile target;
    std::optional<Tile> source;  // the value, evaluated already
    bool parked = false;         // ... into memory of our own
  };
  std::vector<Pending> pending;
  for (const auto& [value, target] : list) {
    const auto bound = e.tiles.find(value);
    if (bound == e.tiles.end())
      pending.push_back({.value = value, .target = target, .source = {}});
    else if (!same(bound->second, target))
      pending.push_back({.value = value, .target = target, .source = bound->second});
  }
  // How evaluating an entry reads a tile: not, each lane where it will be written, or otherwise.
  enum Reads { no, same_lane, anywhere };
  auto reads = [&](const Pending& entry, const Tile& tile) {
    if (entry.source) return same(*entry.source, tile) ? same_lane : no;
    Reads result = no;
    for (const Plan::Leaf& leaf : e.plan.leaves(entry.value)) {
      const auto bound = e.tiles.find(leaf.value);
      if (bound == e.tiles.end() || !same(bound->second, tile)) continue;
      if (!leaf.same_lane) return anywhere;
      result = same_lane;
    }
    return result;
  };
  std::vector<Tile> temporary;
  while (!pending.empty()) {
    auto ready = std::find_if(pending.begin(), pending.end(), [&](const Pending& entry) {
      if (reads(entry, entry.target) == anywhere) return false;
      return std::none_of(pending.begin(), pending.end(), [&](const Pending& other) {
        return &other != &entry && reads(other, entry.target) != no;
      });
    });
    const bool cycle = ready == pending.end();
    if (cycle)
      ready =
          std::find_if(pending.begin(), pending.end(), [](const Pending& entry) { return !entry.parked; });
    const Tile target = cycle ? e.allocate(ready->value->type) : ready->target;
    if (ready->source)
      copy_tile(e, ready->value->type, *ready->source, target);
    else
      materialise(e, ready->value, target);
    if (cycle) {
      temporary.push_back(target);
      ready->source = target;
      ready->parked = true;
    } else {
      pending.erase(ready);
    }
  }
  for (const Tile& tile : temporary) e.release(tile);
}

namespace {

// Leaves of what `op` itself evaluates from its operand `i`.
bool reads_other_lanes(Emitter& e, const Op* op, const ir::Value* holder) {
  for (size_t i = 0; i < op->operands.size(); ++i) {
    if (op->code == Opcode::dot && i < 2) continue;  // packed before anything is written
    const bool moves = op->code == Opcode::broadcast || op->code == Opcode::transpose;
    for (const Plan::Leaf& leaf : e.plan.leaves(op->operands[i]))
      if (leaf.value == holder && (moves || !leaf.same_lane)) return true;
  }
  return false;
}

// Whether `value`, made in `region`, may overwrite the memory of `holder` as it is made.
bool may_replace(Emitter& e, const ir::Region* region, const ir::Value* value, const ir::Value* holder) {
  const Op* op = value->definition;
  if (!op || op->parent != region || e.plan.lazy(value) || e.preferred.count(value)) return false;
  if (!holder) return true;
  const int position = e.plan.position(op);
  bool read_by_op = false, read_inside = false;
  for (const Op* sink : e.plan.of(holder).sinks) {
    if (!ir::is_inside(sink->parent, region)) continue;
    const Op* top = ancestor_in(sink, region);
    if (e.plan.position(top) > position) return false;
    read_by_op |= sink == op;
    read_inside |= top == op && sink != op;
  }
  switch (op->code) {
    case Opcode::reduce: return !read_by_op;
    // Both branches read before they yield, and their own values ask again.
    case Opcode::if_else: return true;
    case Opcode::for_loop:
    case Opcode::while_loop: {
      if (read_inside) return false;
      const size_t own = (op->code == Opcode::for_loop ? 3u : 0u) + size_t(value->index);
      for (size_t i = 0; i < op->operands.size(); ++i)
        for (const Plan::Leaf& leaf : e.plan.leaves(op->operands[i]))
          if (leaf.value == holder && (i != own || !leaf.same_lane)) return false;
      return true;
    }
    default: return !reads_other_lanes(e, op, holder);
  }
}

}  // namespace

void prefer(Emitter& e, const Op* yield, size_t first, const std::vector<Tile>& tiles,
            const std::vector<const ir::Value*>& holders) {
  for (size_t i = 0; i < tiles.size(); ++i) {
    const ir::Value* value = yield->operands[first + i];
    if (!tiles[i].allocated() || !may_replace(e, yield->parent, value, holders[i])) continue;
    e.preferred[value] = tiles[i];
    e.preferred_holder[value] = holders[i];
  }
}

}  // namespace heddle::codegen::host
