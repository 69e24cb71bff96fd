// Verifier. Trusts nothing but that pointers are null or alive.
#include "codegen/ir/verify.h"

#include <fmt/format.h>

#include <unordered_set>

#include "codegen/ir/check.h"
#include "codegen/ir/fail.h"

namespace heddle::ir {

namespace {

const char* forbidden(Opcode code, Level level) {
  switch (code) {
    case Opcode::variable:
    case Opcode::read_variable:
    case Opcode::write_variable: return level >= Level::tile ? "promote_variables" : nullptr;
    case Opcode::tile_id:
    case Opcode::program_id: return level >= Level::scheduled ? "the schedule pass" : nullptr;
    case Opcode::dot: return level >= Level::machine ? "the lowering to a machine program" : nullptr;
    default: return info(code).expanded && level >= Level::expanded ? "expand_math" : nullptr;
  }
}

class Verifier {
 public:
  Verifier(const Function& function, Level level) : function_(function), level_(level) {}

  std::optional<Fault> run() {
    header();
    if (!fault_) region(function_.body);
    return std::move(fault_);
  }

 private:
  template <class... Args>
  void complain(const Op* op, fmt::format_string<Args...> format, Args&&... args) {
    if (!fault_) fault_ = Fault{op, fmt::format(format, std::forward<Args>(args)...)};
  }

  void header() {
    const Region& body = function_.body;
    if (body.parent) return complain(nullptr, "a function's body has no parent");
    if (function_.parameters.size() != body.arguments.size())
      return complain(nullptr, "{} parameters, but {} arguments of the body", function_.parameters.size(),
                      body.arguments.size());
    for (size_t i = 0; i < body.arguments.size(); ++i) {
      const Parameter& parameter = function_.parameters[i];
      if (!parameter.value || parameter.value != body.arguments[i])
        return complain(nullptr, "parameter {} is not the body's argument {}", i, i);
      const Type& type = parameter.value->type;
      const bool view = type.kind == Type::Kind::view;
      if (!view && (type.rank != 0 || (type.kind != Type::Kind::data && type.kind != Type::Kind::pointer)))
        return complain(nullptr, "parameter {} is {}: parameters are scalars, pointers and views", i,
                        to_string(type));
      if (parameter.facts.unit_stride_axis >= (view ? int(type.rank) : 0))
        return complain(nullptr, "parameter {} has no axis {}", i, int(parameter.facts.unit_stride_axis));
    }
  }

  void extent(const Op* op, const Extent& extent) {
    if (extent.dim == Extent::kLiteral) return;
    if (extent.dim < 0 || size_t(extent.dim) >= function_.dims.size())
      return complain(op, "d{} is none of the {} dims", extent.dim, function_.dims.size());
    if (extent.value != function_.dims[extent.dim].value)
      complain(op, "{} stands for d{}, which is {}", extent.value, extent.dim,
               function_.dims[extent.dim].value);
  }

  void type(const Op* op, const Type& type) {
    if (type.kind == Type::Kind::none) return complain(op, "a value lacks a type");
    if (type.kind == Type::Kind::variable && !(op && op->code == Opcode::variable))
      return complain(op, "only the op variable makes a {}", to_string(type));
    if (type.kind == Type::Kind::view && op) return complain(op, "views are parameters and nothing else");
    if (type.kind == Type::Kind::view) return;
    for (int i = 0; i < type.rank; ++i) {
      if (type.extents[i].value < 1)
        complain(op, "{} has an extent of {}", to_string(type), type.extents[i].value);
      extent(op, type.extents[i]);
    }
  }

  void define(const Op* op, const Value* value) {
    if (!value) return complain(op, "a result or argument is missing");
    type(op, value->type);
    if (!defined_.insert(value).second) return complain(op, "a value is defined twice");
    visible_.insert(value);
  }

  void region(const Region& region) {
    std::vector<const Value*> inside;
    for (size_t i = 0; i < region.arguments.size() && !fault_; ++i) {
      const Value* argument = region.arguments[i];
      define(region.parent, argument);
      if (!fault_ && (argument->region != &region || argument->definition || argument->index != int(i)))
        complain(region.parent, "argument {} does not point back at its region", i);
      inside.push_back(argument);
    }
    for (size_t i = 0; i < region.ops.size() && !fault_; ++i) {
      const Op* next = region.ops[i];
      if (!next) return complain(region.parent, "a region holds a missing op");
      if (next->parent != &region)
        return complain(next, "{} does not point back at its region", info(next->code).name);
      const bool last = i + 1 == region.ops.size();
      if (next->code == Opcode::yield && (!last || !region.parent))
        return complain(next, "yield stands where no region ends");
      op(*next);
      inside.insert(inside.end(), next->results.begin(), next->results.end());
    }
    for (const Value* value : inside) visible_.erase(value);
  }

  void op(const Op& op) {
    const char* name = info(op.code).name;
    if (const char* pass = forbidden(op.code, level_))
      return complain(&op, "{} should be gone after {}", name, pass);
    if (op.code >= Opcode::shared_buffer && function_.warps == 0)
      return complain(&op, "{} belongs to machine programs", name);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (!op.operands[i]) return complain(&op, "operand {} of {} is missing", i, name);
      if (!visible_.count(op.operands[i]))
        return complain(&op, "operand {} of {} is used where it is not defined", i, name);
    }
    for (size_t i = 0; i < op.results.size(); ++i)
      if (!op.results[i] || op.results[i]->definition != &op || op.results[i]->index != int(i))
        return complain(&op, "result {} of {} does not point back at it", i, name);
    for (const Region* inner : op.regions)
      if (!inner || inner->parent != &op)
        return complain(&op, "a region of {} does not point back at it", name);
    if (std::string message = check(op); !message.empty()) return complain(&op, "{}", message);
    for (const Extent& attribute : op.attributes) extent(&op, attribute);
    if (op.code == Opcode::tile_id)
      for (const Extent& size : op.attributes)
        if (size.value < 1) complain(&op, "a tile size of {}", size.value);
    if (op.code == Opcode::store_view) written_view(op);
    for (const Region* inner : op.regions) {
      if (fault_) return;
      if (inner->ops.empty() || !inner->ops.back() || inner->ops.back()->code != Opcode::yield)
        return complain(&op, "a region of {} does not end in yield", name);
      region(*inner);
    }
    if (!fault_) state(op);
    for (const Value* result : op.results) define(&op, result);
  }

  void written_view(const Op& op) {
    for (const Parameter& parameter : function_.parameters)
      if (parameter.value == op.operands[0] && parameter.read_only)
        complain(&op, "store_view writes to a const view");
  }

  // `values` must have the types of `expected`.
  template <class Expected>
  void match(const Op& op, const char* what, const std::vector<Value*>& values, size_t skip,
             const Expected& expected, size_t expected_skip = 0) {
    if (values.size() - skip != expected.size() - expected_skip)
      return complain(&op, "{} has {} {}, not {}", info(op.code).name, values.size() - skip, what,
                      expected.size() - expected_skip);
    for (size_t i = skip; i < values.size() && !fault_; ++i)
      if (const Type& wanted = expected[i - skip + expected_skip]->type; values[i]->type != wanted)
        complain(&op, "one of the {} of {} is {}, not {}", what, info(op.code).name,
                 to_string(values[i]->type), to_string(wanted));
  }

  // Region arguments, yields and results carry one state.
  void state(const Op& op) {
    const auto yielded = [&](int i) -> const std::vector<Value*>& {
      return op.regions[i]->ops.back()->operands;
    };
    switch (op.code) {
      case Opcode::for_loop:
        if (op.regions[0]->arguments.empty() || op.regions[0]->arguments[0]->type != Type::scalar(DType::i64))
          return complain(&op, "a loop's region takes the index, an i64, first");
        match(op, "initial states", op.operands, 3, op.results);
        match(op, "region arguments", op.regions[0]->arguments, 1, op.results);
        match(op, "yielded states", yielded(0), 0, op.results);
        return;
      case Opcode::if_else:
        for (int i = 0; i < 2; ++i) {
          match(op, "region arguments", op.regions[i]->arguments, 0, std::vector<Value*>());
          match(op, "yielded values", yielded(i), 0, op.results);
        }
        return;
      case Opcode::while_loop:
        match(op, "initial states", op.operands, 0, op.results);
        if (yielded(0).empty() || yielded(0)[0]->type != Type::scalar(DType::i1))
          return complain(&op, "a while_loop's first region yields an i1 first");
        match(op, "states yielded with the condition", yielded(0), 1, op.results);
        match(op, "yielded states", yielded(1), 0, op.results);
        for (int i = 0; i < 2; ++i) match(op, "region arguments", op.regions[i]->arguments, 0, op.results);
        return;
      default: return;
    }
  }

  const Function& function_;
  const Level level_;
  std::unordered_set<const Value*> visible_, defined_;
  std::optional<Fault> fault_;
};

}  // namespace

std::optional<Fault> find_fault(const Function& function, Level level) {
  return Verifier(function, level).run();
}

void verify(const Function& function, Level level) {
  const std::optional<Fault> fault = find_fault(function, level);
  if (!fault) return;
  fail(ErrorKind::internal, fault->op ? fault->op->where : Location(), "{} in kernel '{}': {}",
       fault->op ? info(fault->op->code).name : "the header", function.name, fault->message);
}

}  // namespace heddle::ir
