// Value numbering over the whole function, loads by memory version.
#include "codegen/passes/simplify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "codegen/ir/builder.h"
#include "codegen/passes/fold.h"
#include "codegen/passes/order.h"
#include "codegen/passes/rewrite.h"

namespace heddle::codegen {

namespace {

using ir::Effect;
using ir::Extent;
using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Type;
using ir::Value;

// An op as the table of known ops sees it. Memory that was written has a new version; pure ops have version
// 0.
struct Known {
  Op* op;
  int version;
};

bool same_names(const Type& a, const Type& b) {
  return a == b && (a.kind == Type::Kind::view ||
                    std::equal(a.extents.begin(), a.extents.begin() + a.rank, b.extents.begin()));
}

struct Equal {
  bool operator()(const Known& x, const Known& y) const {
    const Op &a = *x.op, &b = *y.op;
    if (a.code != b.code || x.version != y.version || a.attributes != b.attributes) return false;
    if (a.operands != b.operands &&
        !(ir::info(a.code).commutative && a.operands[0] == b.operands[1] && a.operands[1] == b.operands[0]))
      return false;
    return std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(),
                      [](const Value* r, const Value* s) { return same_names(r->type, s->type); });
  }
};

struct Hash {
  size_t operator()(const Known& known) const {
    const Op& op = *known.op;
    uint64_t hash = uint64_t(op.code) * 0x9e3779b97f4a7c15u + uint64_t(known.version);
    const auto mix = [&](uint64_t word) { hash = (hash ^ (word + (hash >> 29))) * 0xbf58476d1ce4e5b9u; };
    for (const Extent& attribute : op.attributes) mix(uint64_t(attribute.value));
    if (!op.results.empty()) mix(uint64_t(op.results[0]->type.element));
    uint64_t operands = 0;  // a sum, blind to order: some ops commute
    for (const Value* operand : op.operands)
      operands += reinterpret_cast<uintptr_t>(operand) * 0x94d049bb133111ebu;
    mix(operands);
    return hash ^ (hash >> 32);
  }
};

class Simplify {
 public:
  explicit Simplify(ir::Function& function) : function_(function) {}

  bool run() {
    region(function_.body);
    return changed_;
  }

 private:
  Value* resolve(Value* value) {
    for (auto found = replaced_.find(value); found != replaced_.end(); found = replaced_.find(value))
      value = found->second;
    return value;
  }

  void replace(Value* from, Value* to) {
    replaced_[from] = to;
    changed_ = true;
  }

  void resolve_operands(Op& op) {
    for (Value*& operand : op.operands) {
      Value* resolved = resolve(operand);
      changed_ |= resolved != operand;
      operand = resolved;
    }
  }

  void region(Region& region) {
    std::vector<Op*> ops = std::move(region.ops);
    region.ops.clear();
    append(ops, region);
  }

  // Simplifies `ops`, which may come from another region, onto the end of `region`.
  void append(const std::vector<Op*>& ops, Region& region) {
    for (Op* op : ops) {
      op->parent = &region;
      resolve_operands(*op);
      if (!op->regions.empty())
        control(*op, region);
      else if (ir::info(op->code).effect == Effect::pure)
        pure(*op, region);
      else
        memory(*op, region);
    }
  }

  // Pure ops.

  void pure(Op& op, Region& region) {
    if (op.results.size() == 1) {
      Value* value = number(&op, region);
      if (value != op.result()) replace(op.result(), value);
      return;
    }
    const auto [known, fresh] = known_.insert({&op, 0});
    if (fresh) return region.ops.push_back(&op);
    for (size_t i = 0; i < op.results.size(); ++i) replace(op.results[i], known->op->results[i]);
  }

  // The value that stands for `op`'s result: an identity's, an equal op's, or its own, with the op appended.
  Value* number(Op* op, Region& region) {
    if (op->code == Opcode::constant) {
      if (op->attributes[0].dim == Extent::kLiteral) op->attributes[0].value = *constant_of(op->result());
    } else if (ir::info(op->code).commutative && constant_of(op->operands[0]) &&
               !constant_of(op->operands[1])) {
      std::swap(op->operands[0], op->operands[1]);
      changed_ = true;
    }
    const MakeValue make = [&](Opcode code, std::vector<Value*> operands, std::vector<Extent> attributes,
                               Type type) {
      Op* made = function_.new_op(code, op->where);
      made->operands = std::move(operands);
      made->attributes = std::move(attributes);
      made->parent = &region;
      function_.add_result(*made, type);
      return number(made, region);
    };
    if (Value* value = rewrite(function_, *op, make)) return value;
    const auto [known, fresh] = known_.insert({op, 0});
    if (fresh) region.ops.push_back(op);
    return known->op->result();
  }

  // Loads and stores.

  void memory(Op& op, Region& region) {
    const bool load = op.code == Opcode::load;
    const size_t mask_at = load ? 1 : 2;
    if ((load || op.code == Opcode::store) && op.operands.size() > mask_at) {
      const std::optional<int64_t> mask = constant_of(op.operands[mask_at]);
      if (mask) changed_ = true;
      if (mask == 1) op.operands.resize(mask_at);
      if (mask == 0 && !load) return;
      if (mask == 0) return nothing_loaded(op, region);
    }
    if (ir::info(op.code).effect != Effect::read) {
      if (ir::info(op.code).effect == Effect::write) version_ = ++versions_;
      region.ops.push_back(&op);
      return;
    }
    const auto [known, fresh] = known_.insert({&op, version_});
    if (!fresh && ir::is_inside(&region, known->op->parent)) return replace(op.result(), known->op->result());
    if (!fresh) {  // the equal load stands in another branch
      known_.erase(known);
      known_.insert({&op, version_});
    }
    region.ops.push_back(&op);
  }

  void nothing_loaded(Op& op, Region& region) {
    if (op.operands.size() > 2) return replace(op.result(), op.operands[2]);
    Op* zero = function_.new_op(Opcode::constant, op.where);
    zero->parent = &region;
    zero->attributes = {{.value = 0}};
    function_.add_result(*zero, op.result()->type);
    replace(op.result(), number(zero, region));
  }

  // Control.

  void control(Op& op, Region& region) {
    switch (op.code) {
      case Opcode::for_loop: return for_loop(op, region);
      case Opcode::while_loop: return while_loop(op, region);
      default: return branch(op, region);
    }
  }

  std::vector<Value*>& yielded(const Op& op, int i) { return op.regions[i]->ops.back()->operands; }

  // Ends with `op` replaced by the contents of its region `i`; `first` skips yielded values that are no
  // results.
  void inline_region(Op& op, int i, Region& region, int first = 0) {
    std::vector<Op*> ops = std::move(op.regions[i]->ops);
    const Op* yield = ops.back();
    ops.pop_back();
    append(ops, region);
    for (size_t k = 0; k < op.results.size(); ++k)
      replace(op.results[k], resolve(yield->operands[first + k]));
    changed_ = true;
  }

  void loop_regions(Op& op, Region& region) {
    const bool writing = writes(op);
    for (Region* inner : op.regions) {
      if (writing) version_ = ++versions_;
      this->region(*inner);
    }
    if (writing) version_ = ++versions_;
    region.ops.push_back(&op);
  }

  void for_loop(Op& op, Region& region) {
    Region& inner = *op.regions[0];
    const size_t states = op.results.size();
    const std::optional<int> trips = few_trips(op);
    if (op.attribute(0) == 0 && trips) {
      for (size_t i = 0; i < states; ++i)
        replace(*trips ? inner.arguments[1 + i] : op.results[i], op.operands[3 + i]);
      if (*trips == 0) return;
      replace(inner.arguments[0], op.operands[0]);
      return inline_region(op, 0, region);
    }
    for (size_t i = 0; i < states; ++i) {
      const Value* next = resolve(yielded(op, 0)[i]);
      if (next == inner.arguments[1 + i] || next == op.operands[3 + i]) constant_state(op, int(i), 3);
    }
    loop_regions(op, region);
  }

  // 0 or 1 where the bounds and step are constants that give so many.
  static std::optional<int> few_trips(const Op& op) {
    const auto lower = constant_of(op.operands[0]), upper = constant_of(op.operands[1]),
               step = constant_of(op.operands[2]);
    if (step == 0) return 0;
    if (!lower || !upper || !step) return {};
    const bool enters = *step > 0 ? *lower < *upper : *lower > *upper;
    if (!enters) return 0;
    int64_t second = 0;
    if (__builtin_add_overflow(*lower, *step, &second)) return {};
    const bool again = *step > 0 ? second < *upper : second > *upper;
    if (again) return {};
    return 1;
  }

  // State `i` is the initial value throughout: uses read that. remove_dead takes the state itself away.
  void constant_state(Op& op, int i, int first_operand) {
    Value* initial = op.operands[first_operand + i];
    replaced_[op.results[i]] = initial;
    for (size_t k = 0; k < op.regions.size(); ++k) {
      Region& inner = *op.regions[k];
      const bool indexed = op.code == Opcode::for_loop, conditional = op.code == Opcode::while_loop && k == 0;
      move_uses(inner, inner.arguments[i + indexed], initial, i + conditional);
    }
  }

  // Redirects the uses of a region's argument, but for the yield that hands it on as the same state.
  void move_uses(Region& region, Value* from, Value* to, size_t own_place) {
    ir::walk(region, [&](Op* op) {
      for (size_t i = 0; i < op->operands.size(); ++i)
        if (op->operands[i] == from && !(op == region.ops.back() && i == own_place)) {
          op->operands[i] = to;
          changed_ = true;
        }
    });
  }

  void while_loop(Op& op, Region& region) {
    const auto enters = constant_of(resolve(yielded(op, 0)[0]));
    if (enters == 0) {
      for (size_t i = 0; i < op.results.size(); ++i) replace(op.regions[0]->arguments[i], op.operands[i]);
      return inline_region(op, 0, region, 1);
    }
    for (size_t i = 0; i < op.results.size(); ++i)
      if (yielded(op, 0)[1 + i] == op.regions[0]->arguments[i] &&
          yielded(op, 1)[i] == op.regions[1]->arguments[i])
        constant_state(op, int(i), 0);
    loop_regions(op, region);
  }

  void branch(Op& op, Region& region) {
    if (const auto condition = constant_of(op.operands[0]))
      return inline_region(op, *condition ? 0 : 1, region);
    const int before = version_;
    for (Region* inner : op.regions) {
      version_ = before;
      this->region(*inner);
    }
    version_ = writes(op) ? ++versions_ : before;
    region.ops.push_back(&op);
    for (size_t i = 0; i < op.results.size(); ++i)
      if (Value* value = yielded(op, 0)[i]; value == yielded(op, 1)[i]) replace(op.results[i], value);
  }

  ir::Function& function_;
  std::unordered_map<const Value*, Value*> replaced_;
  std::unordered_set<Known, Hash, Equal> known_;
  int version_ = 0, versions_ = 0;  // of memory: the current one, and how many there were
  bool changed_ = false;
};

}  // namespace

bool simplify(ir::Function& function) {
  return Simplify(function).run();
}

}  // namespace heddle::codegen
