// Loops and branches, and the ring of stages that feeds the dots of a loop.
#include <algorithm>

#include "codegen/ir/fail.h"
#include "codegen/machine/analysis.h"
#include "codegen/machine/lowering.h"
#include "codegen/machine/mma.h"

namespace heddle::codegen::machine {

using ir::Layout;
using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Type;
using ir::Value;

namespace {

bool writes_memory(const Region& region) {
  bool found = false;
  ir::walk(region,
           [&](const Op* op) { found |= op->code == Opcode::store || op->code == Opcode::store_view; });
  return found;
}

bool reads_memory(const Region& region) {
  bool found = false;
  ir::walk(region, [&](const Op* op) { found |= op->code == Opcode::load || op->code == Opcode::load_view; });
  return found;
}

// Whether `value` can be had for a later turn of `region`'s loop: it follows from the index and from outside.
bool follows_from_index(const Value* value, const Region& region) {
  if (!value->definition) return value->region != &region || value->index == 0;
  const Op& op = *value->definition;
  if (op.parent != &region) return !ir::is_inside(op.parent, &region);
  if (value->type.rank != 0 || ir::info(op.code).effect != ir::Effect::pure) return false;
  for (const Value* operand : op.operands)
    if (!follows_from_index(operand, region)) return false;
  return true;
}

// The stages of a ring where neither schedule nor space says otherwise: enough to cover a trip to memory.
constexpr int64_t kDefaultStages = 4;

}  // namespace

Lowering::Scope::Scope(Lowering& lowering, Op& owner, const Region& from)
    : region(*lowering.out_->new_region(&owner)),
      lowering_(lowering),
      outer_(lowering.build_.region()),
      mark_(lowering.made_.size()),
      live_bytes_(lowering.live_bytes_),
      reads_(lowering.reads_pending_),
      writes_(lowering.writes_pending_) {
  lowering.build_.set_region(region);
  // A loop's region follows itself.
  if (owner.code != Opcode::if_else) {
    lowering.reads_pending_ |= reads_memory(from);
    lowering.writes_pending_ |= writes_memory(from);
  }
}

Lowering::Scope::~Scope() {
  lowering_.build_.set_region(outer_);
  while (lowering_.made_.size() > mark_) {
    lowering_.tiles_[lowering_.made_.back()].pop_back();
    lowering_.made_.pop_back();
  }
  lowering_.live_bytes_ = live_bytes_;
  lowering_.reads_pending_ |= reads_;
  lowering_.writes_pending_ |= writes_;
}

// Values as the state of `op`'s results: tiles in the results' layouts.
std::vector<Value*> Lowering::states(const std::vector<Value*>& old, size_t skip, const Op& op) {
  std::vector<Value*> fresh;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Value* value = old[skip + i];
    fresh.push_back(op.results[i]->type.rank > 0 ? tile(value, natural_.or_blocked(op.results[i]))
                                                 : scalar(value));
  }
  return fresh;
}

std::vector<Type> Lowering::state_types(const Op& op) {
  std::vector<Type> types;
  for (const Value* result : op.results)
    types.push_back(result->type.rank > 0 ? result->type.with_layout(number(natural_.or_blocked(result)))
                                          : result->type);
  return types;
}

void Lowering::if_else(const Op& op) {
  const std::vector<Type> types = state_types(op);
  Op* fresh = build_.emit(Opcode::if_else, {scalar(op.operands[0])}, {}, types);
  for (const Region* side : op.regions) {
    Scope scope(*this, *fresh, *side);
    ops(*side);
    build_.emit(Opcode::yield, states(side->ops.back()->operands, 0, op));
  }
  for (size_t i = 0; i < types.size(); ++i) bind(op.results[i], fresh->results[i]);
}

void Lowering::while_loop(const Op& op) {
  const std::vector<Type> types = state_types(op);
  Op* fresh = build_.emit(Opcode::while_loop, states(op.operands, 0, op), {}, types);
  for (size_t side = 0; side < 2; ++side) {
    const Region& from = *op.regions[side];
    Scope scope(*this, *fresh, from);
    for (size_t i = 0; i < types.size(); ++i)
      bind(from.arguments[i], out_->add_argument(scope.region, types[i]));
    ops(from);
    const std::vector<Value*>& yielded = from.ops.back()->operands;
    std::vector<Value*> values = states(yielded, side == 0 ? 1 : 0, op);
    if (side == 0) values.insert(values.begin(), scalar(yielded[0]));
    build_.emit(Opcode::yield, std::move(values));
  }
  for (size_t i = 0; i < types.size(); ++i) bind(op.results[i], fresh->results[i]);
}

// The dots of one loop whose operands are copied ahead of their use.
class Ring {
 public:
  Ring(Lowering& lowering, const Op& loop) : l_(lowering), loop_(loop), region_(*loop.regions[0]) {
    const Op* step = loop.operands[2]->definition;
    if (!step || step->code != Opcode::constant || step->attribute(0) <= 0 || writes_memory(region_)) return;
    for (const Op* op : region_.ops)
      if (op->code == Opcode::dot)
        for (const size_t index : {0, 1})
          if (const auto copy = l_.copy_of(*op, index); copy && can_be_ahead(*copy))
            copies_.push_back({.copy = *copy, .dot = op, .index = index});
  }

  bool empty() const { return copies_.empty(); }

  // Before the loop: buffers, and the first stages on their way.
  void begin() {
    before_ = l_.live_bytes_;
    for (Stage& stage : copies_) stage.buffer = l_.make_buffer(*stage.dot, stage.index, stage.copy.fast);
    const int64_t bytes = l_.live_bytes_ - before_;  // of one stage
    const int64_t room = (l_.target_.shared_bytes - before_ - l_.staging_bytes_) / bytes;
    stages_ =
        l_.schedule_.loads.stages ? l_.schedule_.loads.stages : std::clamp<int64_t>(room, 1, kDefaultStages);
    l_.live_bytes_ = before_;
    for (Stage& stage : copies_) {
      stage.buffer->definition->attributes[0].value = l_.live_bytes_;
      stage.buffer->definition->attributes[1].value = stages_;
      l_.live_bytes_ += BufferLayout(stage.buffer).slot_bytes * stages_;
    }
    l_.most_bytes_ = std::max(l_.most_bytes_, l_.live_bytes_);
    ahead_ = stages_ > 1 && can_load_ahead();
    l_.barrier();  // whoever read these buffers last is done
    Value* index = l_.scalar(loop_.operands[0]);
    for (int64_t stage = 0; stage + 1 < stages_; ++stage) {
      fill(index, l_.build_.index(stage));
      index = l_.build_.value(Opcode::add, {index, l_.scalar(loop_.operands[2])});
    }
    state_ = {l_.build_.index(0), l_.build_.index(stages_ - 1)};
    if (!ahead_) return;
    meet();
    for (const Stage& stage : copies_)
      state_.push_back(l_.load_fragments(*stage.dot, stage.index, stage.buffer, state_[0], 0));
  }

  // What the loop carries for the ring: the slot to read, the slot to write, fragments that were loaded
  // ahead.
  const std::vector<Value*>& state() const { return state_; }

  // In the loop, before its ops: what is read now has come, and what is read stages later is on its way.
  // `arguments` are the region's for state().
  void turn(Value* index, std::vector<Value*> arguments) {
    ir::Builder& build = l_.build_;
    Value *read = arguments[0], *write = arguments[1];
    if (stages_ == 1) {
      l_.barrier();
      fill(index, write);
    }
    // Where fragments are loaded ahead, all threads met before they loaded these: none reads `write` any
    // more.
    if (!ahead_) meet();
    if (stages_ > 1) {
      Value* ahead = build.integer(Type::scalar(DType::i64),
                                   {.value = loop_.operands[2]->definition->attribute(0) * (stages_ - 1)});
      fill(build.value(Opcode::add, {index, ahead}), write);
    }
    state_ = {next(read), next(write)};
    for (size_t i = 0; i < copies_.size(); ++i) {
      Operand& operand = l_.copied_[copies_[i].copy.load];
      operand = {.buffer = copies_[i].buffer, .slot = read};
      if (!ahead_) continue;
      operand.fragments = arguments[2 + i];
      operand.next_slot = state_[0];
      operand.pending = pending();
    }
  }

  // After the loop's ops: state() is the next turn's from here on.
  void end_turn() {
    if (!ahead_) return;
    for (const Stage& stage : copies_) state_.push_back(l_.copied_.at(stage.copy.load).fragments);
  }

  void end() {
    l_.build_.emit(Opcode::wait_copies, {}, {{.value = 0}});
    for (const Stage& stage : copies_) l_.copied_.erase(stage.copy.load);
    l_.live_bytes_ = before_;
  }

 private:
  struct Stage {
    Copy copy;
    const Op* dot;
    size_t index;
    Value* buffer = nullptr;
  };

  bool can_be_ahead(const Copy& copy) const {
    if (copy.load->parent != &region_) return false;
    for (size_t i = 1; i < copy.load->operands.size(); ++i)
      if (!follows_from_index(copy.load->operands[i], region_)) return false;
    return true;
  }

  // One dot on tensor cores, which takes both its operands from the ring.
  bool can_load_ahead() const {
    constexpr int64_t kWordBytes = 4;
    if (copies_.size() != 2 || copies_[0].dot != copies_[1].dot) return false;
    const Op& dot = *copies_[0].dot;
    return mma_for(dot, l_.target_.sm) && size_bytes(dot.operands[0]->type.element) <= kWordBytes;
  }

  // Groups of copies that may be under way while a stage is read: the later stages'.
  int64_t pending() const { return std::max<int64_t>(0, stages_ - 2); }

  void meet() {
    l_.build_.emit(Opcode::wait_copies, {}, {{.value = pending()}});
    l_.barrier();
  }

  // Copies of the turn at `index`, if there is one, as one group.
  void fill(Value* index, Value* slot) {
    ir::Builder& build = l_.build_;
    Op* guard =
        build.emit(Opcode::if_else, {build.value(Opcode::lt, {index, l_.scalar(loop_.operands[1])})}, {}, {});
    {
      Lowering::Scope scope(l_, *guard, region_);
      const auto saved = l_.scalars_;
      l_.scalars_[region_.arguments[0]] = index;
      for (const Stage& stage : copies_) {
        for (size_t i = 1; i < stage.copy.load->operands.size(); ++i) again(stage.copy.load->operands[i]);
        l_.copy(stage.copy, stage.buffer, slot);
      }
      l_.scalars_ = saved;
      build.emit(Opcode::yield, {});
    }
    {
      Lowering::Scope scope(l_, *guard, region_);
      build.emit(Opcode::yield, {});
    }
    build.emit(Opcode::commit_copies, {});
  }

  // Computes what `value` is for the index that is bound now.
  void again(const Value* value) {
    const Op* op = value->definition;
    if (!op || op->parent != &region_) return;
    std::vector<Value*> operands;
    for (const Value* operand : op->operands) {
      again(operand);
      operands.push_back(l_.scalar(operand));
    }
    l_.scalars_[value] =
        l_.build_.emit(op->code, std::move(operands), op->attributes, {value->type})->result();
  }

  Value* next(Value* slot) {
    ir::Builder& build = l_.build_;
    Value* following = build.value(Opcode::add, {slot, build.index(1)});
    Value* wraps = build.value(Opcode::eq, {following, build.index(stages_)});
    return build.value(Opcode::select, {wraps, build.index(0), following});
  }

  Lowering& l_;
  const Op& loop_;
  const Region& region_;
  std::vector<Stage> copies_;
  int64_t stages_ = 0;
  bool ahead_ = false;  // fragments are loaded before the turn that multiplies them
  std::vector<Value*> state_;
  int64_t before_ = 0;  // bytes of shared memory that lived when the ring began
};

void Lowering::for_loop(const Op& op) {
  const Region& from = *op.regions[0];
  Ring ring(*this, op);
  std::vector<Type> types = state_types(op);
  std::vector<Value*> operands;
  for (size_t i = 0; i < 3; ++i) operands.push_back(scalar(op.operands[i]));
  for (Value* state : states(op.operands, 3, op)) operands.push_back(state);
  if (!ring.empty()) {
    ring.begin();
    for (Value* value : ring.state()) {
      operands.push_back(value);
      types.push_back(value->type);
    }
  }
  Op* fresh = build_.emit(Opcode::for_loop, std::move(operands), op.attributes, types);
  {
    Scope scope(*this, *fresh, from);
    Value* index = out_->add_argument(scope.region, Type::scalar(DType::i64));
    scalars_[from.arguments[0]] = index;
    for (size_t i = 0; i < op.results.size(); ++i)
      bind(from.arguments[1 + i], out_->add_argument(scope.region, types[i]));
    if (!ring.empty()) {
      std::vector<Value*> arguments;
      for (size_t i = op.results.size(); i < types.size(); ++i)
        arguments.push_back(out_->add_argument(scope.region, types[i]));
      ring.turn(index, std::move(arguments));
    }
    ops(from);
    std::vector<Value*> yielded = states(from.ops.back()->operands, 0, op);
    if (!ring.empty()) {
      ring.end_turn();
      yielded.insert(yielded.end(), ring.state().begin(), ring.state().end());
    }
    build_.emit(Opcode::yield, std::move(yielded));
  }
  for (size_t i = 0; i < op.results.size(); ++i) bind(op.results[i], fresh->results[i]);
  if (!ring.empty()) ring.end();
}

}  // namespace heddle::codegen::machine
