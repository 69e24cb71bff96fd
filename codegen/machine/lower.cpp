#include "codegen/machine/lower.h"

#include <algorithm>

#include "codegen/ir/fail.h"
#include "codegen/ir/verify.h"
#include "codegen/machine/analysis.h"
#include "codegen/machine/lowering.h"
#include "codegen/machine/verify.h"

namespace heddle::codegen {

namespace machine {

using ir::Builder;
using ir::Layout;
using ir::Op;
using ir::Opcode;
using ir::Type;
using ir::Value;

namespace {

bool is_tile(const Value* value) {
  return value->type.rank > 0 &&
         (value->type.kind == Type::Kind::data || value->type.kind == Type::Kind::pointer);
}

// The layout in which a shape op's operand must be, so that its result is in `layout` with no data moved.
Layout operand_layout(const Op& op, const Layout& layout) {
  const Type& from = op.operands[0]->type;
  switch (op.code) {
    case Opcode::expand: return ir::without_axis(layout, int(op.attribute(0)));
    case Opcode::squeeze: return ir::with_axis(layout, int(op.attribute(0)));
    case Opcode::transpose: return ir::transposed(layout);
    default: {
      Layout result = layout;
      for (int axis = 0; axis < from.rank; ++axis)
        if (from.extents[size_t(axis)].value == 1) result = ir::collapsed(result, axis);
      return result;
    }
  }
}

}  // namespace

Lowering::Lowering(const ir::Function& from, const Schedule& schedule, const GpuTarget& target,
                   Location where)
    : from_(from),
      schedule_(schedule),
      target_(target),
      where_(where),
      warps_(schedule.warps.warps ? schedule.warps.warps : default_warps(from)),
      out_(std::make_unique<ir::Function>()),
      build_(*out_, out_->body),
      natural_(from, warps_, target.sm) {}

std::unique_ptr<ir::Function> Lowering::run() {
  out_->name = from_.name;
  out_->dims = from_.dims;
  out_->warps = int(warps_);
  out_->ctas = int(schedule_.warps.ctas_per_sm ? schedule_.warps.ctas_per_sm : default_ctas(from_, warps_));
  for (const ir::Parameter& parameter : from_.parameters)
    scalars_[parameter.value] =
        out_->add_parameter(parameter.value->type, parameter.read_only, parameter.facts).value;
  ir::walk(from_.body, [&](const Op* op) {
    for (const Value* operand : op->operands) users_[operand].push_back(op);
  });
  ops(from_.body);
  out_->shared_bytes = most_bytes_;
  if (out_->shared_bytes > target_.shared_bytes)
    fail(ErrorKind::schedule, where_,
         "kernel '{}' needs {} bytes of shared memory in a CTA, and the device has {}; take smaller dims or "
         "fewer "
         "stages (loads = {{.stages = ...}})",
         from_.name, out_->shared_bytes, target_.shared_bytes);
  return std::move(out_);
}

int16_t Lowering::number(const Layout& layout) {
  auto& all = out_->layouts;
  const auto found = std::find(all.begin(), all.end(), layout);
  if (found != all.end()) return int16_t(found - all.begin());
  all.push_back(layout);
  return int16_t(all.size() - 1);
}

void Lowering::bind(const Value* old, Value* fresh) {
  if (!is_tile(old)) {
    scalars_[old] = fresh;
    return;
  }
  tiles_[old].push_back(fresh);
  made_.push_back(old);
}

Value* Lowering::scalar(const Value* old) {
  return scalars_.at(old);
}

Value* Lowering::tile(const Value* old, const Layout& layout) {
  for (Value* version : tiles_[old])
    if (layout_of(version) == layout) return version;
  const Op* op = old->definition;
  Value* fresh;
  if (op && (is_shape_op(op->code) || !natural_.of(old)))
    fresh = recompute(*op, layout);
  else
    fresh = move(tiles_.at(old).front(), layout);
  bind(old, fresh);
  return fresh;
}

// A pure op, again, for one layout of its result.
Value* Lowering::recompute(const Op& op, const Layout& layout) {
  std::vector<Value*> operands;
  for (const Value* operand : op.operands)
    operands.push_back(!is_tile(operand)
                           ? scalar(operand)
                           : tile(operand, is_shape_op(op.code) ? operand_layout(op, layout) : layout));
  const Location saved = build_.where;
  build_.where = op.where;
  Op* fresh = build_.emit(op.code, std::move(operands), op.attributes,
                          {op.results[0]->type.with_layout(number(layout))});
  build_.where = saved;
  return fresh->result();
}

// Where a tile lies on its way from one layout to another.
BufferLayout Lowering::place_to_move(const Type& type, const Layout& from, const Layout& to) const {
  std::vector<int> axes;  // the reader's favourite first
  for (int axis = to.rank; axis-- > 0;) axes.push_back(axis);
  std::stable_sort(axes.begin(), axes.end(), [&](int a, int b) { return to.vector(a) > to.vector(b); });
  return place(type, axes, [&](const BufferLayout& candidate) {
    std::vector<SharedAccess> all = tile_access(candidate, from, AccessKind::store).accesses;
    for (SharedAccess& read : tile_access(candidate, to, AccessKind::load).accesses)
      all.push_back(std::move(read));
    return all;
  });
}

// Through shared memory.
Value* Lowering::move(Value* value, const Layout& layout) {
  if (value->type.kind == Type::Kind::pointer)
    fail(
        ErrorKind::unsupported, build_.where,
        "kernel '{}': a tile of pointers would have to change threads here; add the offsets where it is used",
        from_.name);
  const BufferLayout memory = place_to_move(value->type, layout_of(value), layout);
  Value* buffer = shared(memory, value->type, /*staging=*/true);
  Value* slot = build_.index(0);
  barrier();
  build_.emit(Opcode::store_shared, {value, buffer, slot});
  barrier();
  return build_.emit(Opcode::load_shared, {buffer, slot}, {}, {value->type.with_layout(number(layout))})
      ->result();
}

Value* Lowering::shared(const BufferLayout& memory, const Type& tile, bool staging) {
  Type type = tile.with_kind(Type::Kind::shared).with_layout(-1);
  for (int axis = 0; axis < type.rank; ++axis) type.extents[size_t(axis)].dim = ir::Extent::kLiteral;
  Op* op = build_.emit(Opcode::shared_buffer, {},
                       {{.value = live_bytes_},
                        {.value = 1},
                        {.value = memory.pitch},
                        {.value = memory.fast},
                        {.value = memory.swizzle.bits},
                        {.value = memory.swizzle.to},
                        {.value = memory.swizzle.from}},
                       {type});
  most_bytes_ = std::max(most_bytes_, live_bytes_ + memory.slot_bytes);
  if (staging)
    staging_bytes_ = std::max(staging_bytes_, memory.slot_bytes);
  else
    live_bytes_ += memory.slot_bytes;
  return op->result();
}

void Lowering::barrier() {
  build_.emit(Opcode::barrier, {});
  reads_pending_ = writes_pending_ = false;
}

void Lowering::order_memory(bool writes) {
  if (writes ? reads_pending_ || writes_pending_ : writes_pending_) barrier();
  (writes ? writes_pending_ : reads_pending_) = true;
}

void Lowering::ops(const ir::Region& from) {
  for (const Op* next : from.ops)
    if (next->code != Opcode::yield) op(*next);
}

void Lowering::op(const Op& op) {
  build_.where = op.where;
  switch (op.code) {
    case Opcode::for_loop: return for_loop(op);
    case Opcode::if_else: return if_else(op);
    case Opcode::while_loop: return while_loop(op);
    case Opcode::dot: return dot(op);
    case Opcode::reduce: return reduce(op);
    case Opcode::load:
    case Opcode::load_view:
    case Opcode::store:
    case Opcode::store_view: return memory(op);
    default: break;
  }
  const Value* result = op.results[0];
  if (!is_tile(result)) return plain(op, nullptr);
  if (is_shape_op(op.code)) return;  // made where it is used
  if (const auto layout = natural_.of(result)) plain(op, &*layout);
}

// An op that acts lane by lane, or on scalars.
void Lowering::plain(const Op& op, const Layout* layout) {
  std::vector<Value*> operands;
  for (const Value* operand : op.operands) {
    if (!is_tile(operand))
      operands.push_back(scalar(operand));
    else if (layout)
      operands.push_back(tile(operand, *layout));
    else  // the one lane of a tile, squeezed out: every thread has it
      operands.push_back(tile(operand, ir::blocked(operand->type, operand->type.rank - 1, 1, warps_)));
  }
  Type type = op.results[0]->type;
  if (layout) type = type.with_layout(number(*layout));
  bind(op.results[0], build_.emit(op.code, std::move(operands), op.attributes, {type})->result());
}

// A coalesced layout, where what it takes of shared memory keeps no CTA off the multiprocessor.
Layout Lowering::layout_to_store(const Op& store) {
  const Layout natural = natural_.of_stored(store);
  const auto coalesced = natural_.coalesced(store);
  if (!coalesced) return natural;
  const int64_t bytes = place_to_move(store.operands[1]->type, natural, *coalesced).slot_bytes;
  const bool fits = live_bytes_ + bytes <= std::max(most_bytes_, target_.shared_bytes / out_->ctas);
  return fits ? *coalesced : natural;
}

void Lowering::memory(const Op& op) {
  const bool is_load = !op.results.empty();
  if (is_load && (copied_.count(&op) || issue_copy(op))) return;
  order_memory(!is_load);
  const Value* data = is_load ? op.results[0] : op.operands[1];
  std::optional<Layout> layout;
  if (is_tile(data)) layout = is_load ? natural_.or_blocked(data) : layout_to_store(op);
  std::vector<Value*> operands;
  for (const Value* operand : op.operands)
    operands.push_back(is_tile(operand) ? tile(operand, *layout) : scalar(operand));
  // Moving an operand into place may have ended in a barrier: say again what is pending.
  (is_load ? reads_pending_ : writes_pending_) = true;
  std::vector<Type> results;
  if (is_load) results.push_back(layout ? data->type.with_layout(number(*layout)) : data->type);
  Op* fresh = build_.emit(op.code, std::move(operands), op.attributes, std::move(results));
  if (is_load) bind(data, fresh->result());
}

void Lowering::reduce(const Op& op) {
  const int axis = int(op.attribute(1));
  const Layout layout = natural_.or_blocked(op.operands[0]);
  Value* operand = tile(op.operands[0], layout);
  std::vector<Value*> operands{operand};
  const bool crosses = std::any_of(layout.warps.begin(), layout.warps.end(),
                                   [&](const Layout::Bit& bit) { return bit.axis == axis; });
  if (crosses) {
    // What threads leave there, and what they find. Many values take turns.
    constexpr int64_t kMostBytes = 64 * 1024;
    const bool order_free = is_order_free(ir::ReduceKind(op.attribute(0)), op.operands[0]->type.element);
    const int64_t once = 2 * layout.threads();
    const int64_t room = kMostBytes / (once * size_bytes(op.operands[0]->type.element));
    const int64_t values = once * std::min(values_crossing_warps(layout, axis, order_free), room);
    Type type = op.results[0]->type;
    type.rank = 1;
    type.extents = {{{.value = values}}};
    const int64_t bytes = (values * size_bytes(type.element) + 15) / 16 * 16;
    operands.push_back(shared(BufferLayout(type, bytes, 0, {}), type, /*staging=*/true));
    reads_pending_ = writes_pending_ = false;  // it starts and ends with a barrier
  }
  bind(op.results[0], build_
                          .emit(Opcode::reduce, std::move(operands), op.attributes,
                                {op.results[0]->type.with_layout(number(ir::collapsed(layout, axis)))})
                          ->result());
}

}  // namespace machine

std::unique_ptr<ir::Function> lower_to_machine(const ir::Function& function, const Schedule& schedule,
                                               const GpuTarget& target, Location schedule_where) {
  std::unique_ptr<ir::Function> program = machine::Lowering(function, schedule, target, schedule_where).run();
  ir::verify(*program, ir::Level::machine);
  machine::verify_layouts(*program);
  return program;
}

}  // namespace heddle::codegen
