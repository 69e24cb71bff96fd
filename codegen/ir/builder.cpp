// Builder: creates an op, infers its result, checks it, appends it.
#include "codegen/ir/builder.h"

#include "codegen/ir/check.h"
#include "codegen/ir/fail.h"

namespace heddle::ir {

Op* Builder::emit(Opcode code, std::vector<Value*> operands, std::vector<Extent> attributes,
                  std::vector<Type> results) {
  Op* op = function_.new_op(code, where);
  op->operands = std::move(operands);
  op->attributes = std::move(attributes);
  op->parent = region_;
  if (results.empty() && info(code).results == 1)
    results.push_back(infer(code, op->operands, op->attributes));
  for (const Type& type : results) function_.add_result(*op, type);
  if (info(code).regions == 0)
    if (std::string message = check(*op); !message.empty()) fail(blame, where, "{}", message);
  list_->push_back(op);
  return op;
}

Value* Builder::value(Opcode code, std::vector<Value*> operands, std::vector<Extent> attributes) {
  return emit(code, std::move(operands), std::move(attributes))->result();
}

Value* Builder::constant(Type type, double value) {
  return emit(Opcode::constant, {}, {{.value = constant_payload(type.element, value)}}, {type})->result();
}

Value* Builder::integer(Type type, Extent value) {
  return emit(Opcode::constant, {}, {value}, {type})->result();
}

Value* Builder::cast(Value* operand, DType to) {
  if (operand->type.element == to) return operand;
  return emit(Opcode::cast, {operand}, {}, {operand->type.with_element(to)})->result();
}

Value* Builder::bitcast(Value* operand, DType to) {
  return emit(Opcode::bitcast, {operand}, {}, {operand->type.with_element(to)})->result();
}

Value* Builder::broadcast(Value* operand, const Type& shape) {
  if (same_shape(operand->type, shape)) return operand;
  Type type = shape.with_kind(operand->type.kind).with_element(operand->type.element);
  return emit(Opcode::broadcast, {operand}, {}, {type})->result();
}

Value* Builder::reduce(Value* operand, ReduceKind kind, int axis) {
  return value(Opcode::reduce, {operand}, {{.value = int64_t(kind)}, {.value = axis}});
}

Value* Builder::ceil_div(Value* numerator, Value* denominator) {
  Value* rounded = value(Opcode::add, {numerator, value(Opcode::sub, {denominator, index(1)})});
  return value(Opcode::div, {rounded, denominator});
}

}  // namespace heddle::ir
