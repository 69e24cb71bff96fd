// A forward walk over the function; loops are walked until what is known of their state no longer changes.
#include "codegen/passes/check_partial.h"

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "codegen/ir/evaluate.h"
#include "codegen/ir/fail.h"

namespace heddle::codegen {

namespace {

using ir::Lane;
using ir::Op;
using ir::Opcode;
using ir::Region;
using ir::Type;
using ir::Value;

// What is known of a value's lanes beyond the end of some view along one axis.
struct Beyond {
  const Op* load = nullptr;  // the load they come from; null: the value has no such lanes along this axis
  std::optional<Lane>
      value;  // what they hold, where known; of a value without such lanes, what all of it holds

  friend bool operator==(const Beyond&, const Beyond&) = default;
};
using Axes = std::array<Beyond, ir::kMaxRank>;

Beyond join(const Beyond& a, const Beyond& b) {
  return {.load = a.load ? a.load : b.load, .value = a.value == b.value ? a.value : std::nullopt};
}

bool is_zero(DType type, const std::optional<Lane>& lane) {
  if (!lane) return false;
  const Lane sign = is_any_float(type) ? Lane(1) << (bit_width(type) - 1) : 0;
  return (*lane & ~sign) == 0;
}

std::string place(Location where) {
  return where.known() ? fmt::format("{}:{}", where.file, where.line) : std::string("an unknown line");
}

class Walk {
 public:
  explicit Walk(const ir::Function& function) { region(function.body, /*report=*/true); }

 private:
  const Axes& of(const Value* value) { return known_[value]; }

  // Reports faults only where `report` is set: while a loop's state still changes, what is known is not
  // final.
  void region(const Region& body, bool report) {
    for (const Op* op : body.ops) visit(*op, report);
  }

  const Op* terminator(const Region& body) const { return body.ops.back(); }

  void visit(const Op& op, bool report) {
    switch (op.code) {
      case Opcode::constant:
        return set_all(op, ir::lane_of_payload(op.results[0]->type.element, op.attribute(0)));
      case Opcode::load_view: return load_view(op);
      case Opcode::broadcast: return broadcast(op);
      case Opcode::expand: return expand(op);
      case Opcode::squeeze: return squeeze(op);
      case Opcode::transpose: return transpose(op);
      case Opcode::dot: return dot(op, report);
      case Opcode::reduce: return reduce(op, report);
      case Opcode::for_loop: return for_loop(op, report);
      case Opcode::while_loop: return while_loop(op, report);
      case Opcode::if_else: return if_else(op, report);
      default:
        if (op.results.size() == 1 && op.results[0]->type.kind == Type::Kind::data && !op.operands.empty() &&
            (ir::info(op.code).elementwise || op.code == Opcode::select || op.code == Opcode::cast ||
             op.code == Opcode::bitcast))
          lanewise(op);
        else
          for (const Value* result : op.results) known_[result] = {};
    }
  }

  void set_all(const Op& op, std::optional<Lane> value) {
    for (Beyond& axis : known_[op.results[0]]) axis = {.value = value};
  }

  void load_view(const Op& op) {
    Axes axes;
    const Type& tile = op.results[0]->type;
    const bool has_fill = op.attribute(0) != 0;
    for (int i = 0; i < tile.rank; ++i)
      if (!has_fill && tile.extents[size_t(i)].value != 1) axes[size_t(i)] = {.load = &op, .value = Lane(0)};
    known_[op.results[0]] = axes;
  }

  void lanewise(const Op& op) {
    Axes axes;
    for (int i = 0; i < op.results[0]->type.rank; ++i) axes[size_t(i)] = lanewise_axis(op, size_t(i));
    if (op.results[0]->type.rank == 0) axes[0] = lanewise_axis(op, 0);
    known_[op.results[0]] = axes;
  }

  Beyond lanewise_axis(const Op& op, size_t axis) {
    Beyond result;
    std::array<Lane, 3> lanes{};
    bool all_known = true;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      const Beyond& operand = of(op.operands[k])[axis];
      if (!result.load) result.load = operand.load;
      if (operand.value)
        lanes[k] = *operand.value;
      else
        all_known = false;
    }
    const DType element = op.operands.back()->type.element;
    if (op.code == Opcode::select && !of(op.operands[0])[axis].load && !of(op.operands[0])[axis].value) {
      const Op* condition = op.operands[0]->definition;
      const bool uniform =
          condition && condition->code == Opcode::broadcast && condition->operands[0]->type.rank == 0;
      if (!uniform) return {};  // the user's own mask
      return join(of(op.operands[1])[axis], of(op.operands[2])[axis]);
    }
    if (all_known && ir::can_evaluate(op.code, element)) {
      result.value = ir::evaluate(op.code, element, op.results[0]->type.element, lanes.data());
    } else if (op.code == Opcode::mul) {
      for (const Value* operand : op.operands)
        if (is_zero(element, of(operand)[axis].value)) result.value = Lane(0);
    } else if (op.code == Opcode::tanh || op.code == Opcode::erf) {
      if (is_zero(element, of(op.operands[0])[axis].value)) result.value = Lane(0);
    }
    return result;
  }

  void broadcast(const Op& op) {
    const Type& from = op.operands[0]->type;
    const Axes& source = of(op.operands[0]);
    Axes axes;
    for (int i = 0; i < op.results[0]->type.rank; ++i)
      axes[size_t(i)] = from.rank ? source[size_t(i)] : source[0];
    known_[op.results[0]] = axes;
  }

  // A new axis of extent 1 has no lanes beyond anything; a value that is one constant still is.
  void expand(const Op& op) {
    const Axes source = of(op.operands[0]);
    const size_t at = size_t(op.attribute(0)), rank = op.operands[0]->type.rank;
    Axes axes;
    for (size_t i = 0; i <= rank; ++i) {
      if (i == at)
        axes[i] = {.value = source[0].load ? std::nullopt : source[0].value};
      else
        axes[i] = source[i < at ? i : i - 1];
    }
    known_[op.results[0]] = axes;
  }

  void squeeze(const Op& op) {
    const Axes source = of(op.operands[0]);
    Axes axes;
    for (size_t i = 0, to = 0; i < op.operands[0]->type.rank; ++i)
      if (i != size_t(op.attribute(0))) axes[to++] = source[i];
    if (op.results[0]->type.rank == 0) axes[0] = {.value = source[0].value};
    known_[op.results[0]] = axes;
  }

  void transpose(const Op& op) {
    Axes axes = of(op.operands[0]);
    const size_t rank = op.results[0]->type.rank;
    std::swap(axes[rank - 1], axes[rank - 2]);
    known_[op.results[0]] = axes;
  }

  void dot(const Op& op, bool report) {
    const Axes &a = of(op.operands[0]), &b = of(op.operands[1]), &c = of(op.operands[2]);
    const DType element = op.operands[0]->type.element;
    const Op* inner = a[1].load ? a[1].load : b[0].load;
    const bool silent =
        (a[1].load && is_zero(element, a[1].value)) || (b[0].load && is_zero(element, b[0].value));
    if (report && inner && !silent)
      fail(ErrorKind::trace, op.where,
           "the inner axis of this dot has lanes that the view load at {} may read beyond the view's end, "
           "and they are 0 "
           "in neither operand: give that load a fill for which they are, or select the live lanes",
           place(inner->where));
    // Rows beyond a's end add nothing to c where they are 0; so do columns beyond b's.
    auto outer = [&](const Beyond& operand, const Beyond& start) {
      Beyond result = start;
      if (!operand.load) return Beyond{.load = start.load, .value = std::nullopt};
      if (!result.load) result.load = operand.load;
      if (!is_zero(element, operand.value)) result.value = std::nullopt;
      return result;
    };
    known_[op.results[0]] = {outer(a[0], c[0]), outer(b[1], c[1])};
  }

  void reduce(const Op& op, bool report) {
    const auto kind = ir::ReduceKind(op.attribute(0));
    const size_t axis = size_t(op.attribute(1));
    const DType element = op.results[0]->type.element;
    Axes axes = of(op.operands[0]);
    if (report && axes[axis].load) refuse(op, kind, axis, element, axes[axis]);
    for (size_t i = 0; i < op.results[0]->type.rank; ++i) {
      if (i == axis)
        axes[i] = {};
      else if (kind == ir::ReduceKind::product ||
               (kind == ir::ReduceKind::sum && !is_zero(element, axes[i].value)))
        axes[i].value = std::nullopt;
    }
    known_[op.results[0]] = axes;
  }

  void refuse(const Op& op, ir::ReduceKind kind, size_t axis, DType element, const Beyond& lanes) {
    if (kind == ir::ReduceKind::sum) {
      if (is_zero(element, lanes.value)) return;
      fail(ErrorKind::trace, op.where,
           "sum along axis {} would count lanes beyond the end of a view: the load at {} reads 0 there, but "
           "what is summed "
           "is not 0 for a 0. Give that load a fill for which it is, or select the live lanes",
           axis, place(lanes.load->where));
    }
    fail(ErrorKind::trace, op.where,
         "{} along axis {} would count lanes beyond the end of a view, where the load at {} reads 0. Give "
         "that load a fill "
         "that suits {}, or select the live lanes",
         ir::to_string(kind), axis, place(lanes.load->where), ir::to_string(kind));
  }

  // Takes what `yield` hands back into what is known of the state it becomes; whether that changed anything.
  // What is known only ever shrinks, so the loops below end.
  bool merge(const Value* const* state, const Value* const* yielded, size_t count) {
    bool changed = false;
    for (size_t i = 0; i < count; ++i) {
      Axes& known = known_[state[i]];
      const Axes next = of(yielded[i]);
      for (size_t axis = 0; axis < known.size(); ++axis) {
        const Beyond joined = join(known[axis], next[axis]);
        changed |= joined != known[axis];
        known[axis] = joined;
      }
    }
    return changed;
  }

  void copy(const Value* const* to, const Value* const* from, size_t count) {
    for (size_t i = 0; i < count; ++i) known_[to[i]] = Axes(of(from[i]));
  }

  // Operands: bounds and step, then state. Region arguments: the index, then state.
  void for_loop(const Op& op, bool report) {
    const Region& body = *op.regions[0];
    const size_t states = op.results.size();
    const Value* const* state = body.arguments.data() + 1;
    copy(state, op.operands.data() + 3, states);
    do region(body, false);
    while (merge(state, terminator(body)->operands.data(), states));
    region(body, report);
    copy(op.results.data(), state, states);
  }

  // The first region yields the condition and the state that the body starts from, and that is left at the
  // end.
  void while_loop(const Op& op, bool report) {
    const Region &before = *op.regions[0], &body = *op.regions[1];
    const size_t states = op.results.size();
    copy(before.arguments.data(), op.operands.data(), states);
    const auto pass = [&](bool last) {
      region(before, last);
      copy(body.arguments.data(), terminator(before)->operands.data() + 1, states);
      region(body, last);
    };
    do pass(false);
    while (merge(before.arguments.data(), terminator(body)->operands.data(), states));
    pass(report);
    copy(op.results.data(), terminator(before)->operands.data() + 1, states);
  }

  void if_else(const Op& op, bool report) {
    for (const Region* branch : op.regions) region(*branch, report);
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Axes &a = of(terminator(*op.regions[0])->operands[i]),
                 &b = of(terminator(*op.regions[1])->operands[i]);
      Axes joined;
      for (size_t axis = 0; axis < joined.size(); ++axis) joined[axis] = join(a[axis], b[axis]);
      known_[op.results[i]] = joined;
    }
  }

  std::unordered_map<const Value*, Axes> known_;
};

}  // namespace

void check_partial(const ir::Function& function) {
  Walk walk(function);
}

}  // namespace heddle::codegen
