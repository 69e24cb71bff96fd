// Decides, before any code is made, which tile values exist in memory and which are expressions that are
// evaluated lane by lane inside the loops of whoever uses them ("sinks"). Must not know LLVM.
//
// An expression may be: elementwise ops, casts, shapes, constants, and loads with no conflicting write before
// their use. Always in memory: results of dot and reduce, loop state. An expression is put into memory as
// well when evaluating it again for each sink would cost more than keeping it.
#pragma once

#include <unordered_map>
#include <vector>

#include "codegen/ir/ir.h"

namespace heddle::codegen::host {

struct ValuePlan {
  bool lazy = false;                 // an expression; else kept in scratch memory
  std::vector<const ir::Op*> sinks;  // the ops that read it, through other expressions or directly
  int last_use = -1;                 // position, in its home region, of the last op that holds a sink
  int cost = 0;                      // rough instructions per lane of the whole expression
  bool regular = false;              // addresses or offsets that a base and a step along the lanes describe
  int depth = 0;                     // ops on the longest path through the expression
  bool deep = false;                 // as many as one expression may have: it is kept
  int lane_bytes = 1;                // of the widest arithmetic in it; i64 index arithmetic counts as 4
};

class Plan {
 public:
  explicit Plan(const ir::Function& function);

  const ValuePlan& of(const ir::Value* value) const { return values_.at(value); }
  bool lazy(const ir::Value* value) const { return of(value).lazy; }
  bool used(const ir::Value* value) const { return !of(value).sinks.empty(); }
  int position(const ir::Op* op) const { return positions_.at(op); }
  bool writes(const ir::Op* op) const { return writes_.at(op); }  // memory, itself or inside

  // Everything an expression reads that is no expression: values kept in memory, and load ops (as their
  // result value). Each at most once for either value of `same_lane`.
  struct Leaf {
    const ir::Value* value;
    bool same_lane;  // lane i of the expression reads only lane i of the leaf
  };
  std::vector<Leaf> leaves(const ir::Value* value) const;

  bool reads_memory(const ir::Value* value) const;  // by loads that are evaluated with it

 private:
  void number(const ir::Region& region);
  void measure(const ir::Region& region);
  void decide(const ir::Region& region);
  void decide_value(ir::Value* value);
  bool crosses_write(const ir::Op* load) const;
  bool worth_keeping(const ir::Value* value) const;

  std::unordered_map<const ir::Value*, ValuePlan> values_;
  std::unordered_map<const ir::Op*, int> positions_;
  std::unordered_map<const ir::Op*, bool> writes_;
};

// Whether a value is a tile: more than one lane to look after.
inline bool is_tile_value(const ir::Value* value) {
  const ir::Type::Kind kind = value->type.kind;
  return value->type.rank > 0 && (kind == ir::Type::Kind::data || kind == ir::Type::Kind::pointer);
}

// The op of `region` that is `op` or holds it.
const ir::Op* ancestor_in(const ir::Op* op, const ir::Region* region);

}  // namespace heddle::codegen::host
