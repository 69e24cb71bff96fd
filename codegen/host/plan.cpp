#include "codegen/host/plan.h"

#include <algorithm>
#include <set>

namespace heddle::codegen::host {

using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Value;

namespace {

// Recomputing an expression of this cost for a second sink is cheaper than storing and reloading it.
constexpr int kRecomputeCost = 4;
// Ops on a path through one expression: evaluating it takes a few frames of the stack for each.
constexpr int kDepthLimit = 400;
constexpr int kCostLimit = 1 << 20;  // keeps sums over shared subexpressions from overflowing

bool can_be_lazy(const Op* op) {
  if (ir::info(op->code).elementwise) return true;
  switch (op->code) {
    case Opcode::constant:
    case Opcode::arange:
    case Opcode::select:
    case Opcode::cast:
    case Opcode::bitcast:
    case Opcode::broadcast:
    case Opcode::expand:
    case Opcode::squeeze:
    case Opcode::transpose:
    case Opcode::pointer_add:
    case Opcode::load:
    case Opcode::load_view: return true;
    default: return false;
  }
}

bool small_float(DType type) {
  return is_any_float(type) && bit_width(type) <= 16;
}

int own_cost(const Op* op) {
  const DType from = op->operands.empty() ? DType::f32 : op->operands[0]->type.element;
  const int conversion = small_float(from) ? 3 : 0;
  switch (op->code) {
    case Opcode::constant:
    case Opcode::broadcast:
    case Opcode::expand:
    case Opcode::squeeze:
    case Opcode::transpose:
    case Opcode::pointer_add:
    case Opcode::bitcast: return 0;
    case Opcode::div:
    case Opcode::rem: return is_integer(from) ? 20 : 5;
    case Opcode::sqrt: return 5;
    case Opcode::load_view: return 3;
    case Opcode::load: return 4;
    case Opcode::cast: return 1 + conversion + (small_float(op->result()->type.element) ? 3 : 0);
    default: return 1 + conversion;
  }
}

int own_lane_bytes(const Op* op) {
  auto bytes = [](const Value* value, bool arithmetic) {
    if (value->type.kind == ir::Type::Kind::pointer || value->type.element == DType::i64) return 4;
    const DType type = value->type.element;
    return arithmetic && small_float(type) ? 4 : size_bytes(type);
  };
  const bool arithmetic = ir::info(op->code).elementwise || op->code == Opcode::cast;
  int widest = 1;
  for (const Value* result : op->results) widest = std::max(widest, bytes(result, arithmetic));
  for (const Value* operand : op->operands)
    if (operand->type.kind == ir::Type::Kind::data) widest = std::max(widest, bytes(operand, arithmetic));
  return widest;
}

// Whether such an op on regular offsets and addresses gives regular ones.
bool keeps_regular(const Op* op) {
  switch (op->code) {
    case Opcode::constant:
    case Opcode::arange:
    case Opcode::broadcast:
    case Opcode::expand:
    case Opcode::squeeze:
    case Opcode::transpose:
    case Opcode::pointer_add:
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul: break;
    default: return false;
  }
  const ir::Type& type = op->result()->type;
  return type.kind == ir::Type::Kind::pointer || type.element == DType::i64;
}

}  // namespace

const Op* ancestor_in(const Op* op, const Region* region) {
  while (op->parent != region) op = op->parent->parent;
  return op;
}

Plan::Plan(const ir::Function& function) {
  number(function.body);
  measure(function.body);
  decide(function.body);
}

void Plan::number(const Region& region) {
  for (size_t i = 0; i < region.ops.size(); ++i) {
    const Op* op = region.ops[i];
    positions_[op] = int(i);
    bool writes = ir::info(op->code).effect == ir::Effect::write;
    for (const Region* inner : op->regions) {
      number(*inner);
      for (const Op* nested : inner->ops) writes |= writes_.at(nested);
    }
    writes_[op] = writes;
  }
}

// Costs and widths as if everything that can be an expression were one.
void Plan::measure(const Region& region) {
  for (const Value* argument : region.arguments)
    values_[argument].lane_bytes =
        argument->type.element == DType::i64 ? 4 : size_bytes(argument->type.element);
  for (const Op* op : region.ops) {
    for (const Region* inner : op->regions) measure(*inner);
    int cost = own_cost(op), lane_bytes = own_lane_bytes(op), depth = 0;
    bool regular = op->results.size() == 1 && keeps_regular(op);
    if (can_be_lazy(op))
      for (const Value* operand : op->operands) {
        if (!is_tile_value(operand)) continue;
        regular &= values_.at(operand).regular;
        cost = std::min(cost + values_.at(operand).cost, kCostLimit);
        lane_bytes = std::max(lane_bytes, values_.at(operand).lane_bytes);
        depth = std::max(depth, values_.at(operand).depth + 1);
      }
    const bool deep = depth >= kDepthLimit;
    for (const Value* result : op->results) {
      values_[result].cost = can_be_lazy(op) ? cost : 0;
      values_[result].lane_bytes = lane_bytes;
      values_[result].regular = regular && !deep;
      values_[result].deep = deep;
      values_[result].depth = deep ? 0 : depth;
    }
  }
}

// Backwards, so that a value's users are decided before the value.
void Plan::decide(const Region& region) {
  for (auto it = region.ops.rbegin(); it != region.ops.rend(); ++it) {
    const Op* op = *it;
    for (const Region* inner : op->regions) decide(*inner);
    for (Value* result : op->results) decide_value(result);

    const bool tile_result = op->results.size() == 1 && is_tile_value(op->result());
    const bool expression = tile_result && lazy(op->result());
    const bool dead = tile_result && !used(op->result()) && op->regions.empty();
    if (dead) continue;
    for (const Value* operand : op->operands) {
      if (!is_tile_value(operand)) continue;
      std::vector<const Op*>& sinks = values_.at(operand).sinks;
      auto add = [&](const Op* sink) {
        if (std::find(sinks.begin(), sinks.end(), sink) == sinks.end()) sinks.push_back(sink);
      };
      if (expression)
        for (const Op* sink : of(op->result()).sinks) add(sink);
      else
        add(op);
    }
  }
  for (Value* argument : region.arguments) decide_value(argument);
}

void Plan::decide_value(Value* value) {
  ValuePlan& plan = values_.at(value);
  const Region* region = ir::home(value);
  for (const Op* sink : plan.sinks)
    plan.last_use = std::max(plan.last_use, position(ancestor_in(sink, region)));
  const Op* op = value->definition;
  if (!op || !is_tile_value(value) || !can_be_lazy(op)) return;
  const bool load = op->code == Opcode::load || op->code == Opcode::load_view;
  plan.lazy = !(load && crosses_write(op)) && !worth_keeping(value);
}

// Whether a write may come between a load and its evaluation by one of its sinks. A sink that writes itself
// is looked after where it is emitted.
bool Plan::crosses_write(const Op* load) const {
  const Region& region = *load->parent;
  for (const Op* sink : of(load->result()).sinks) {
    const Op* holder = ancestor_in(sink, &region);
    for (int i = position(load) + 1; i < position(holder); ++i)
      if (writes(region.ops[i])) return true;
    if (holder != sink && writes(holder)) return true;
  }
  return false;
}

bool Plan::worth_keeping(const Value* value) const {
  const ValuePlan& plan = of(value);
  if (plan.deep) return true;
  // A load through regular addresses is one of whole vectors; through addresses from memory, lane by lane.
  if (plan.regular) return false;
  const Region* region = ir::home(value);
  bool in_loop = false;
  for (const Op* sink : plan.sinks)
    for (const Op* op = sink; op->parent != region; op = op->parent->parent)
      in_loop |= op->parent->parent->code != Opcode::if_else;
  if (in_loop) return plan.cost >= 2;
  return plan.sinks.size() > 1 && plan.cost > kRecomputeCost;
}

std::vector<Plan::Leaf> Plan::leaves(const Value* value) const {
  std::vector<Leaf> found;
  std::set<std::pair<const Value*, bool>> seen;  // membership only: order follows the operands
  auto visit = [&](auto& self, const Value* part, bool same_lane) -> void {
    if (!is_tile_value(part) || !seen.insert({part, same_lane}).second) return;
    const Op* op = part->definition;
    if (!lazy(part)) {
      found.push_back({part, same_lane});
      return;
    }
    if (op->code == Opcode::load_view || op->code == Opcode::load) found.push_back({part, same_lane});
    const bool moves = op->code == Opcode::broadcast || op->code == Opcode::transpose;
    for (const Value* operand : op->operands) self(self, operand, same_lane && !moves);
  };
  visit(visit, value, true);
  return found;
}

bool Plan::reads_memory(const Value* value) const {
  for (const Leaf& leaf : leaves(value))
    if (lazy(leaf.value)) return true;
  return false;
}

}  // namespace heddle::codegen::host
