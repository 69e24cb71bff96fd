// Storage of a Function and the op table's look-ups.
#include "codegen/ir/ir.h"

#include <bit>
#include <unordered_map>

namespace heddle::ir {

namespace {

constexpr bool none = false, commutative = true;
constexpr bool same = false, boolean = true;

constexpr OpInfo kOps[] = {
#define HEDDLE_ELEMENTWISE(name, arity, domain, result, laws, expression) \
  {#name, true, false, Domain::domain, result, laws, arity, arity, 1, 0, "", Effect::pure},
#define HEDDLE_EXPANDED(name, arity, domain, result, laws, expression) \
  {#name, true, true, Domain::domain, result, laws, arity, arity, 1, 0, "", Effect::pure},
#define HEDDLE_STRUCTURED(name, least, most, results, regions, attributes, effect) \
  {#name, false, false, Domain::any, same, none, least, most, results, regions, attributes, Effect::effect},
#include "codegen/ir/ops.def"
};

}  // namespace

const OpInfo& info(Opcode code) {
  return kOps[int(code)];
}

bool parse_opcode(std::string_view name, Opcode& code) {
  for (int i = 0; i < kOpcodeCount; ++i)
    if (name == kOps[i].name) {
      code = Opcode(i);
      return true;
    }
  return false;
}

const char* to_string(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum: return "sum";
    case ReduceKind::product: return "product";
    case ReduceKind::max: return "max";
    case ReduceKind::min: return "min";
  }
  return "?";
}

Op* Function::new_op(Opcode code, Location where) {
  ops_.push_back(std::make_unique<Op>());
  Op* op = ops_.back().get();
  op->code = code;
  op->where = where;
  return op;
}

Value* Function::new_value(Type type) {
  values_.push_back(std::make_unique<Value>());
  values_.back()->type = type;
  return values_.back().get();
}

Region* Function::new_region(Op* parent) {
  regions_.push_back(std::make_unique<Region>());
  Region* region = regions_.back().get();
  region->parent = parent;
  if (parent) parent->regions.push_back(region);
  return region;
}

Value* Function::add_argument(Region& region, Type type) {
  Value* value = new_value(type);
  value->region = &region;
  value->index = int(region.arguments.size());
  region.arguments.push_back(value);
  return value;
}

Value* Function::add_result(Op& op, Type type) {
  Value* value = new_value(type);
  value->definition = &op;
  value->index = int(op.results.size());
  op.results.push_back(value);
  return value;
}

Parameter& Function::add_parameter(Type type, bool read_only, Facts facts) {
  parameters.push_back({.value = add_argument(body, type), .read_only = read_only, .facts = facts});
  return parameters.back();
}

namespace {

using ValueMap = std::unordered_map<const Value*, Value*>;

void clone_region(const Region& from, Region& to, Function& function, ValueMap& map) {
  for (const Op* op : from.ops) {
    Op* copy = function.new_op(op->code, op->where);
    copy->parent = &to;
    copy->attributes = op->attributes;
    for (const Value* operand : op->operands) copy->operands.push_back(map.at(operand));
    for (const Value* result : op->results) map[result] = function.add_result(*copy, result->type);
    to.ops.push_back(copy);
    for (const Region* inner : op->regions) {
      Region* region = function.new_region(copy);
      for (const Value* argument : inner->arguments) {
        Value* added = function.add_argument(*region, argument->type);
        added->where = argument->where;
        map[argument] = added;
      }
      clone_region(*inner, *region, function, map);
    }
  }
}

}  // namespace

std::unique_ptr<Function> clone(const Function& function) {
  auto copy = std::make_unique<Function>();
  copy->name = function.name;
  copy->dims = function.dims;
  copy->layouts = function.layouts;
  copy->warps = function.warps;
  copy->ctas = function.ctas;
  copy->shared_bytes = function.shared_bytes;
  ValueMap map;
  for (const Parameter& parameter : function.parameters)
    map[parameter.value] =
        copy->add_parameter(parameter.value->type, parameter.read_only, parameter.facts).value;
  clone_region(function.body, copy->body, *copy, map);
  return copy;
}

void replace_uses(Region& region, Value* from, Value* to) {
  walk(region, [&](Op* op) {
    for (Value*& operand : op->operands)
      if (operand == from) operand = to;
  });
}

bool is_inside(const Region* region, const Region* outer) {
  for (; region; region = region->parent ? region->parent->parent : nullptr)
    if (region == outer) return true;
  return false;
}

Region* home(const Value* value) {
  return value->region ? value->region : value->definition->parent;
}

int64_t constant_payload(DType type, double value) {
  if (is_any_float(type)) return std::bit_cast<int64_t>(value);
  return int64_t(value);
}

double float_payload(int64_t payload) {
  return std::bit_cast<double>(payload);
}

}  // namespace heddle::ir
