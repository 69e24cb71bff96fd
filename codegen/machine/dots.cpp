// Operands of dots: into shared memory, by whatever road is open to them.
#include <algorithm>

#include "codegen/machine/analysis.h"
#include "codegen/machine/lowering.h"
#include "codegen/machine/mma.h"

namespace heddle::codegen::machine {

using ir::Layout;
using ir::Op;
using ir::Opcode;
using ir::Type;
using ir::Value;

namespace {

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

// The operand's memory in shared memory, in the operand's own axes, with the padding that mma reads.
Type Lowering::operand_memory(const Op& dot, size_t index) const {
  const Layout accumulator = natural_.accumulator(dot);
  Type type = dot.operands[index]->type;
  const size_t k = index == 0 ? 1 : 0;
  type.extents[1 - k].value = accumulator.covered(int(1 - k));
  const MmaInstruction* instruction = mma_for(dot, target_.sm);
  type.extents[k].value = round_up(type.extents[k].value, instruction ? instruction->k() : 1);
  return type;
}

std::vector<SharedAccess> Lowering::operand_reads(const BufferLayout& memory, const Op& dot,
                                                  size_t index) const {
  const int k_axis = int(1 - index);
  return dot_reads(memory, mma_for(dot, target_.sm), k_axis,
                   dot.operands[index]->type.extents[size_t(k_axis)].value, natural_.accumulator(dot));
}

Value* Lowering::make_buffer(const Op& dot, size_t index, int fast) {
  const Type type = operand_memory(dot, index);
  const BufferLayout memory = place(type, {fast}, [&](const BufferLayout& candidate) {
    std::vector<SharedAccess> all = operand_reads(candidate, dot, index);
    for (CopyTurn& turn : copy_turns(candidate, warps_ * 32)) all.push_back(std::move(turn.to));
    return all;
  });
  return shared(memory, type, /*staging=*/false);
}

Value* Lowering::make_buffer(const Op& dot, size_t index, const Layout& from) {
  const Type type = operand_memory(dot, index);
  const int wide = from.vector(0) > from.vector(1) ? 0 : 1;
  const BufferLayout memory = place(type, {wide, 1 - wide}, [&](const BufferLayout& candidate) {
    std::vector<SharedAccess> all = operand_reads(candidate, dot, index);
    for (SharedAccess& write : tile_access(candidate, from, AccessKind::store).accesses)
      all.push_back(std::move(write));
    return all;
  });
  return shared(memory, type, /*staging=*/false);
}

// A load_view that only this dot uses, straight or transposed, and that moves in pieces of 16 bytes.
std::optional<Copy> Lowering::copy_of(const Op& dot, size_t index) const {
  if (schedule_.loads.engine == Engine::plain) return {};
  const Value* value = dot.operands[index];
  Copy copy;
  const auto sole_use = [&](const Value* used) {
    const auto found = users_.find(used);
    return found != users_.end() && found->second.size() == 1;
  };
  if (!value->definition || !sole_use(value)) return {};
  if (value->definition->code == Opcode::transpose) {
    copy.transposed = true;
    value = value->definition->operands[0];
    if (!value->definition || !sole_use(value)) return {};
  }
  copy.load = value->definition;
  if (copy.load->code != Opcode::load_view || copy.load->attribute(0) != 0 || copy.load->parent != dot.parent)
    return {};
  const WideAccess wide = wide_access(from_, *copy.load);
  const int64_t piece = 16 / size_bytes(value->type.element);
  if (wide.elements != piece) return {};
  copy.fast = copy.transposed ? 1 - wide.axis : wide.axis;
  // A piece must not cross the tile's end.
  if (value->type.extents[size_t(wide.axis)].value % piece != 0) return {};
  return copy;
}

void Lowering::copy(const Copy& copy, Value* buffer, Value* slot) {
  std::vector<Value*> operands{scalar(copy.load->operands[0]), buffer, slot};
  for (size_t i = 1; i < copy.load->operands.size(); ++i) operands.push_back(scalar(copy.load->operands[i]));
  const Type& tile = copy.load->results[0]->type;
  const size_t rows = copy.transposed ? 1 : 0;
  build_.emit(Opcode::copy_async, std::move(operands),
              {{.value = tile.extents[rows].value},
               {.value = tile.extents[1 - rows].value},
               {.value = copy.transposed}});
}

// Outside a ring: the copy starts where the load stands, and is waited for by the dot.
bool Lowering::issue_copy(const Op& load) {
  const auto follow = [&](const Value* value) -> const Op* {
    const auto found = users_.find(value);
    return found == users_.end() || found->second.size() != 1 ? nullptr : found->second[0];
  };
  const Op* user = load.code == Opcode::load_view ? follow(load.results[0]) : nullptr;
  if (user && user->code == Opcode::transpose) user = follow(user->results[0]);
  if (!user || user->code != Opcode::dot) return false;
  for (const size_t index : {0, 1}) {
    const auto found = copy_of(*user, index);
    if (!found || found->load != &load) continue;
    Value* buffer = make_buffer(*user, index, found->fast);
    Value* slot = build_.index(0);
    barrier();
    copy(*found, buffer, slot);
    build_.emit(Opcode::commit_copies, {});
    reads_pending_ = true;
    copied_[&load] = {.buffer = buffer, .slot = slot, .arrived = false};
    return true;
  }
  return false;
}

Operand Lowering::operand(const Op& dot, size_t index) {
  if (const auto copy = copy_of(dot, index))
    if (const auto found = copied_.find(copy->load); found != copied_.end()) return found->second;
  const Value* old = dot.operands[index];
  const Layout layout = natural_.or_blocked(old);
  Value* value = tile(old, layout);
  Value* buffer = make_buffer(dot, index, layout);
  Value* slot = build_.index(0);
  barrier();
  if (!ir::same_shape(buffer->type, value->type)) {
    const Type padded = buffer->type.with_kind(Type::Kind::data);
    const int fast = BufferLayout(buffer).fast;
    Type zeros =
        padded.with_layout(number(ir::blocked(padded, fast, 16 / size_bytes(padded.element), warps_)));
    build_.emit(Opcode::store_shared,
                {build_.emit(Opcode::constant, {}, {{.value = 0}}, {zeros})->result(), buffer, slot});
    barrier();
  }
  build_.emit(Opcode::store_shared, {value, buffer, slot});
  return {.buffer = buffer, .slot = slot, .arrived = false};
}

Value* Lowering::load_fragments(const Op& dot, size_t index, Value* buffer, Value* slot, int64_t k) {
  const MmaInstruction& instruction = *mma_for(dot, target_.sm);
  const int k_axis = int(1 - index);
  const Layout layout = fragment_words(instruction, k_axis, natural_.accumulator(dot));
  Type type{.kind = Type::Kind::data, .element = DType::i32, .rank = 2};
  for (const int axis : {0, 1}) type.extents[size_t(axis)].value = layout.covered(axis);
  return build_
      .emit(Opcode::load_fragments, {buffer, slot},
            {{.value = k}, {.value = instruction.k()}, {.value = k_axis}}, {type.with_layout(number(layout))})
      ->result();
}

// The loads of each instruction's fragments go before the instructions on those loaded before: of the next
// steps of K, and in the end of the next turn's first ones.
Value* Lowering::multiply_ahead(const Op& dot, std::array<Operand, 2> operands, Value* accumulator) {
  const int64_t extent = dot.operands[0]->type.extents[1].value, step = mma_for(dot, target_.sm)->k();
  const auto element = int64_t(dot.operands[0]->type.element);
  for (int64_t k = 0; k < extent; k += step) {
    const bool last = k + step >= extent;
    if (last) {
      build_.emit(Opcode::wait_copies, {}, {{.value = operands[0].pending}});
      barrier();
    }
    std::array<Value*, 2> now{};
    for (const size_t index : {0, 1}) {
      Operand& operand = operands[index];
      now[index] = operand.fragments;
      operand.fragments = load_fragments(dot, index, operand.buffer, last ? operand.next_slot : operand.slot,
                                         last ? 0 : k + step);
    }
    accumulator = build_
                      .emit(Opcode::mma_fragments, {now[0], now[1], accumulator},
                            {{.value = element}, {.value = step}}, {accumulator->type})
                      ->result();
  }
  for (const size_t index : {0, 1}) copied_.at(copy_of(dot, index)->load) = operands[index];
  return accumulator;
}

void Lowering::dot(const Op& op) {
  const Operand a = operand(op, 0), b = operand(op, 1);
  const Layout layout = natural_.accumulator(op);
  Value* accumulator = tile(op.operands[2], layout);
  if (a.fragments && b.fragments) return bind(op.results[0], multiply_ahead(op, {a, b}, accumulator));
  if (!a.arrived || !b.arrived) {
    build_.emit(Opcode::wait_copies, {}, {{.value = 0}});
    barrier();
  }
  const Type type = op.results[0]->type.with_layout(number(layout));
  const MmaInstruction* instruction = mma_for(op, target_.sm);
  Op* fresh = build_.emit(
      Opcode::mma, {a.buffer, a.slot, b.buffer, b.slot, accumulator},
      {{.value = op.operands[0]->type.extents[1].value}, {.value = instruction ? instruction->k() : 1}},
      {type});
  bind(op.results[0], fresh->result());
}

}  // namespace heddle::codegen::machine
