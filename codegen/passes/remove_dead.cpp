// Marks from the writes backwards; what stays unmarked goes.
#include "codegen/passes/remove_dead.h"

#include <unordered_map>
#include <unordered_set>

namespace heddle::codegen {

namespace {

using ir::Effect;
using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Value;

std::vector<Value*>& yielded(const Op& op, int region) {
  return op.regions[region]->ops.back()->operands;
}

template <class T>
void keep(std::vector<T>& items, size_t first, const std::vector<bool>& live) {
  size_t out = first;
  for (size_t i = first; i < items.size(); ++i)
    if (live[i - first]) items[out++] = items[i];
  items.resize(out);
}

void renumber(std::vector<Value*>& values) {
  for (size_t i = 0; i < values.size(); ++i) values[i]->index = int(i);
}

class Marking {
 public:
  bool run(Region& body) {
    ir::walk(body, [&](Op* op) {
      const Effect effect = ir::info(op->code).effect;
      if (effect == Effect::write || (effect == Effect::ordered && op->code != Opcode::yield)) need(op);
    });
    while (!pending_.empty()) {
      Value* value = pending_.back();
      pending_.pop_back();
      follow(value);
    }
    return sweep(body);
  }

 private:
  void need(Value* value) {
    if (values_.insert(value).second) pending_.push_back(value);
  }

  void need(Op* op) {
    if (!ops_.insert(op).second) return;
    if (op->parent->parent) need(op->parent->parent);
    switch (op->code) {
      case Opcode::for_loop:
        for (int i = 0; i < 3; ++i) need(op->operands[i]);
        break;
      case Opcode::while_loop: need(yielded(*op, 0)[0]); break;
      default:
        for (Value* operand : op->operands) need(operand);
    }
    if (!op->regions.empty()) states_[op].resize(op->results.size());
  }

  // State `i` of a control op is kept whole: its initial, yielded, argument and result values.
  void need_state(Op* op, int i) {
    need(op);
    if (states_[op][i]) return;
    states_[op][i] = true;
    switch (op->code) {
      case Opcode::for_loop:
        need(op->operands[3 + i]);
        need(yielded(*op, 0)[i]);
        break;
      case Opcode::while_loop:
        need(op->operands[i]);
        need(yielded(*op, 0)[1 + i]);
        need(yielded(*op, 1)[i]);
        break;
      default: need(yielded(*op, 0)[i]); need(yielded(*op, 1)[i]);
    }
  }

  void follow(Value* value) {
    if (value->region) {
      Op* op = value->region->parent;
      if (!op) return;  // a parameter
      const int state = op->code == Opcode::for_loop ? value->index - 1 : value->index;
      if (state >= 0)
        need_state(op, state);
      else
        need(op);
    } else if (value->definition->regions.empty()) {
      need(value->definition);
    } else {
      need_state(value->definition, value->index);
    }
  }

  bool sweep(Region& region) {
    const size_t before = region.ops.size();
    std::erase_if(region.ops, [&](Op* op) { return op->code != Opcode::yield && !ops_.count(op); });
    bool changed = region.ops.size() != before;
    for (Op* op : region.ops) {
      if (op->regions.empty()) continue;
      changed |= shrink(*op, states_[op]);
      for (Region* inner : op->regions) changed |= sweep(*inner);
    }
    return changed;
  }

  static bool shrink(Op& op, const std::vector<bool>& live) {
    const size_t before = op.results.size();
    keep(op.results, 0, live);
    if (op.results.size() == before) return false;
    renumber(op.results);
    if (op.code == Opcode::for_loop) {
      keep(op.operands, 3, live);
      keep(op.regions[0]->arguments, 1, live);
      keep(yielded(op, 0), 0, live);
    } else if (op.code == Opcode::while_loop) {
      keep(op.operands, 0, live);
      keep(op.regions[0]->arguments, 0, live);
      keep(op.regions[1]->arguments, 0, live);
      keep(yielded(op, 0), 1, live);
      keep(yielded(op, 1), 0, live);
    } else {
      keep(yielded(op, 0), 0, live);
      keep(yielded(op, 1), 0, live);
    }
    for (Region* region : op.regions) renumber(region->arguments);
    return true;
  }

  std::unordered_set<const Op*> ops_;
  std::unordered_set<const Value*> values_;
  std::unordered_map<const Op*, std::vector<bool>> states_;
  std::vector<Value*> pending_;
};

}  // namespace

bool remove_dead(ir::Function& function) {
  return Marking().run(function.body);
}

}  // namespace heddle::codegen
