// lower_schedule: worker arithmetic around an unchanged body.
#include "codegen/schedule/lower.h"

#include <algorithm>
#include <unordered_set>

#include "codegen/ir/builder.h"
#include "codegen/ir/fail.h"

namespace heddle::codegen {

namespace {

using ir::Builder;
using ir::Op;
using ir::Opcode;
using ir::Value;

static_assert(kWorkParamCount == ir::kWorkParams);

Value* work_param(Builder& build, WorkParam param) {
  return build.value(Opcode::work_param, {}, {{.value = param}});
}

// Moves to `list` what `value` is computed from, operands first. All of it is pure and stands in the
// function's body.
void take_definitions(Value* value, std::vector<Op*>& list, std::unordered_set<Op*>& taken, const Op& space) {
  Op* op = value->definition;
  if (!op || !taken.insert(op).second) return;
  if (ir::info(op->code).effect != ir::Effect::pure)
    fail(ErrorKind::trace, space.where,
         "the extents of tile_id's work space must follow from view extents and scalar arguments, so that "
         "the launch can "
         "count the tiles; this one comes from {}",
         ir::info(op->code).name);
  for (Value* operand : op->operands) take_definitions(operand, list, taken, space);
  list.push_back(op);
}

// Splits a linear ordinal into coordinates, the last axis fastest.
std::vector<Value*> unfold(Builder& build, Value* ordinal, const std::vector<Value*>& counts) {
  std::vector<Value*> coordinates(counts.size());
  for (size_t i = counts.size(); i-- > 1;) {
    coordinates[i] = build.value(Opcode::rem, {ordinal, counts[i]});
    ordinal = build.value(Opcode::div, {ordinal, counts[i]});
  }
  coordinates[0] = ordinal;
  return coordinates;
}

// Walks `group` tiles along the last axis but one before moving along the last.
std::vector<Value*> unfold_grouped(Builder& build, Value* ordinal, const std::vector<Value*>& counts) {
  const size_t n_axis = counts.size() - 1, m_axis = counts.size() - 2;
  Value* plane = build.value(Opcode::mul, {counts[m_axis], counts[n_axis]});
  std::vector<Value*> outer_counts(counts.begin(), counts.begin() + m_axis);
  outer_counts.push_back(plane);
  std::vector<Value*> coordinates = unfold(build, ordinal, outer_counts);
  Value* in_plane = coordinates.back();
  coordinates.pop_back();

  Value* group = work_param(build, kGroup);
  Value* per_group = build.value(Opcode::mul, {group, counts[n_axis]});
  Value* first_m = build.value(Opcode::mul, {build.value(Opcode::div, {in_plane, per_group}), group});
  Value* in_group = build.value(Opcode::rem, {in_plane, per_group});
  Value* rows = build.value(Opcode::min, {group, build.value(Opcode::sub, {counts[m_axis], first_m})});
  coordinates.push_back(build.value(Opcode::add, {first_m, build.value(Opcode::rem, {in_group, rows})}));
  coordinates.push_back(build.value(Opcode::div, {in_group, rows}));
  return coordinates;
}

void replace_results(ir::Region& region, const Op& op, const std::vector<Value*>& values) {
  for (size_t i = 0; i < values.size(); ++i) ir::replace_uses(region, op.results[i], values[i]);
}

void lower_tiles(ir::Function& function, const Op& space, const Schedule& schedule) {
  const std::vector<Op*> old_ops = std::move(function.body.ops);
  function.body.ops.clear();
  std::unordered_set<Op*> placed;
  for (Value* extent : space.operands) take_definitions(extent, function.body.ops, placed, space);

  Builder build(function, function.body);
  build.where = space.where;
  std::vector<Value*> counts;
  Value* total = nullptr;
  for (size_t i = 0; i < space.operands.size(); ++i) {
    Value* size = build.integer(ir::Type::scalar(DType::i64), space.attributes[i]);
    counts.push_back(build.ceil_div(space.operands[i], size));
    total = total ? build.value(Opcode::mul, {total, counts.back()}) : counts.back();
  }

  Value* ordinal = build.value(Opcode::worker_id, {});
  ir::Region* tile_region = &function.body;
  if (schedule.work.kind == Work::Kind::persistent) {
    Op* loop = build.emit(Opcode::for_loop, {ordinal, total, work_param(build, kWorkers)}, {{.value = 0}});
    tile_region = function.new_region(loop);
    ordinal = function.add_argument(*tile_region, ir::Type::scalar(DType::i64));
  }
  build.set_region(*tile_region);
  const std::vector<Value*> coordinates = schedule.order.kind == Order::Kind::grouped
                                              ? unfold_grouped(build, ordinal, counts)
                                              : unfold(build, ordinal, counts);
  std::vector<Value*> offsets;
  for (size_t i = 0; i < coordinates.size(); ++i)
    offsets.push_back(build.value(
        Opcode::mul, {coordinates[i], build.integer(ir::Type::scalar(DType::i64), space.attributes[i])}));

  for (Op* op : old_ops) {
    if (op == &space || placed.count(op)) continue;
    op->parent = tile_region;
    tile_region->ops.push_back(op);
  }
  if (tile_region != &function.body) build.emit(Opcode::yield, {});
  replace_results(function.body, space, offsets);
}

void lower_programs(ir::Function& function) {
  std::vector<Op*> ids;
  ir::walk(function.body, [&](Op* op) {
    if (op->code == Opcode::program_id) ids.push_back(op);
  });
  if (ids.empty()) return;
  std::vector<Op*> prologue;
  Builder build(function, function.body, prologue);
  build.where = ids.front()->where;
  Value* worker = build.value(Opcode::worker_id, {});
  const std::vector<Value*> zyx = unfold(
      build, worker, {work_param(build, kGridZ), work_param(build, kGridY), work_param(build, kGridX)});
  for (Op* id : ids) {
    std::vector<Op*>& siblings = id->parent->ops;
    siblings.erase(std::find(siblings.begin(), siblings.end(), id));
  }
  function.body.ops.insert(function.body.ops.begin(), prologue.begin(), prologue.end());
  for (Op* id : ids) replace_results(function.body, *id, {zyx[2 - id->attribute(0)]});
}

}  // namespace

const Op* work_space(const ir::Function& function) {
  const Op* space = nullptr;
  ir::walk(function.body, [&](const Op* op) {
    if (op->code != Opcode::tile_id) return;
    if (space)
      fail(ErrorKind::trace, op->where,
           "a kernel has one work space, but tile_id is called again; the first call is at {}:{}. Use its "
           "coordinates",
           space->where.known() ? space->where.file : "?", space->where.line);
    space = op;
  });
  return space;
}

std::unique_ptr<ir::Function> lower_schedule(const ir::Function& function, const Schedule& schedule) {
  std::unique_ptr<ir::Function> lowered = ir::clone(function);
  if (const Op* space = work_space(*lowered))
    lower_tiles(*lowered, *space, schedule);
  else
    lower_programs(*lowered);
  return lowered;
}

}  // namespace heddle::codegen
