// The seam's calls that make values: constants, elementwise ops, shapes, reductions, dot.
#include <initializer_list>

#include "codegen/ir/check.h"
#include "codegen/ir/fail.h"
#include "dsl/numbers.h"
#include "dsl/recorder.h"

namespace heddle::record {

using ir::Opcode;
using ir::Type;

// The seam's enums repeat the IR's, whose header it can't include.
#define HEDDLE_ELEMENTWISE(name, ...) static_assert(int(Op::name) == int(Opcode::name));
#include "codegen/ir/ops.def"
static_assert(int(Reduction::sum) == int(ir::ReduceKind::sum) &&
              int(Reduction::product) == int(ir::ReduceKind::product) &&
              int(Reduction::max) == int(ir::ReduceKind::max) &&
              int(Reduction::min) == int(ir::ReduceKind::min));

namespace {

// The shape that covers both: the C++ types have made sure that there is one.
Type meet(const Type& a, const Type& b) {
  if (a.rank == 0) return b;
  Type result = a;
  for (int i = 0; i < a.rank && b.rank > 0; ++i)
    if (a.extents[i].value == 1) result.extents[i] = b.extents[i];
  return result;
}

// The values of `handles`, stretched to the shape that covers them all.
std::vector<ir::Value*> meeting(Recorder& recorder, std::initializer_list<Handle> handles, Location where) {
  std::vector<ir::Value*> values;
  Type shape = Type::scalar(DType::i1);
  for (const Handle handle : handles) {
    values.push_back(recorder.value(handle, where));
    shape = meet(shape, values.back()->type);
  }
  recorder.limited(shape, where);
  ir::Builder& builder = recorder.builder(where);
  for (ir::Value*& value : values) value = builder.broadcast(value, shape);
  return values;
}

Handle elementwise(Opcode code, std::initializer_list<Handle> handles, Location where) {
  Recorder& recorder = Recorder::current(where);
  std::vector<ir::Value*> values = meeting(recorder, handles, where);
  return recorder.handle(recorder.builder(where).value(code, std::move(values)));
}

Handle scalar(Recorder& recorder, DType type, ir::Extent payload, Location where) {
  return recorder.handle(recorder.builder(where).integer(Type::scalar(type), payload));
}

}  // namespace

int64_t dim_value(const char* dim, Where where) {
  return Recorder::current(where).dim(dim, where).value;
}

Handle literal(DType type, Number number, Where where) {
  Recorder& recorder = Recorder::current(where);
  if (!holds(type, number)) fail(ErrorKind::trace, where, "{}", describe_misfit(type, number));
  return scalar(recorder, type, {.value = rounded_payload(type, number)}, where);
}

Handle literal(DType type, const char* dim, Where where) {
  Recorder& recorder = Recorder::current(where);
  const ir::Extent extent = recorder.dim(dim, where);
  Number number;
  number.integer = extent.value;
  if (!holds(type, number))
    fail(ErrorKind::trace, where, "{} = {}: {}", dim, extent.value, describe_misfit(type, number));
  if (is_integer(type)) return scalar(recorder, type, extent, where);
  ir::Builder& builder = recorder.builder(where);
  return recorder.handle(builder.cast(builder.integer(Type::scalar(DType::i64), extent), type));
}

Handle literal(Extent extent, Where where) {
  Recorder& recorder = Recorder::current(where);
  return scalar(recorder, DType::i64, recorder.extent(extent, where), where);
}

Handle constant(DType type, Number number, Where where) {
  Recorder& recorder = Recorder::current(where);
  return scalar(recorder, type, {.value = rounded_payload(type, number)}, where);
}

Handle full(Handle scalar, Shape shape, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* value = recorder.value(scalar, where);
  const Type type = recorder.tile(value->type.element, shape, where);
  return recorder.handle(recorder.builder(where).broadcast(value, type));
}

Handle arange(Extent extent, Where where) {
  Recorder& recorder = Recorder::current(where);
  const Type type = recorder.tile(DType::i64, {.extents = &extent, .rank = 1}, where);
  return recorder.handle(recorder.builder(where).emit(Opcode::arange, {}, {}, {type})->result());
}

Handle unary(Op op, Handle a, Where where) {
  return elementwise(Opcode(op), {a}, where);
}
Handle binary(Op op, Handle a, Handle b, Where where) {
  return elementwise(Opcode(op), {a, b}, where);
}
Handle ternary(Op op, Handle a, Handle b, Handle c, Where where) {
  return elementwise(Opcode(op), {a, b, c}, where);
}
Handle select(Handle condition, Handle a, Handle b, Where where) {
  return elementwise(Opcode::select, {condition, a, b}, where);
}
Handle pointer_add(Handle pointer, Handle offset, Where where) {
  return elementwise(Opcode::pointer_add, {pointer, offset}, where);
}

Handle cast(Handle value, DType to, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(value, where);
  return recorder.handle(recorder.builder(where).cast(from, to));
}

Handle bitcast(Handle value, DType to, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(value, where);
  return recorder.handle(recorder.builder(where).bitcast(from, to));
}

Handle broadcast(Handle value, Shape shape, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(value, where);
  const Type type = recorder.tile(from->type.element, shape, where);
  return recorder.handle(recorder.builder(where).broadcast(from, type));
}

Handle expand(Handle value, int axis, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(value, where);
  return recorder.handle(recorder.builder(where).value(Opcode::expand, {from}, {{.value = axis}}));
}

Handle squeeze(Handle value, int axis, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(value, where);
  return recorder.handle(recorder.builder(where).value(Opcode::squeeze, {from}, {{.value = axis}}));
}

Handle transpose(Handle value, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(value, where);
  return recorder.handle(recorder.builder(where).value(Opcode::transpose, {from}));
}

Handle reduce(Handle value, Reduction kind, int axis, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(value, where);
  return recorder.handle(recorder.builder(where).reduce(from, ir::ReduceKind(kind), axis));
}

Handle reduce_all(Handle value, Reduction kind, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* rest = recorder.value(value, where);
  ir::Builder& builder = recorder.builder(where);
  for (int axis = rest->type.rank - 1; axis >= 0; --axis)
    rest = builder.reduce(rest, ir::ReduceKind(kind), axis);
  while (rest->type.rank > 0) rest = builder.value(Opcode::squeeze, {rest}, {{.value = 0}});
  return recorder.handle(rest);
}

Handle dot(Handle a, Handle b, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* left = recorder.value(a, where);
  ir::Value* right = recorder.value(b, where);
  Type type = left->type.with_element(ir::accumulator(left->type.element));
  type.extents[1] = right->type.extents[1];
  recorder.limited(type, where);
  ir::Builder& builder = recorder.builder(where);
  ir::Value* zero = builder.integer(type, {.value = 0});  // the payload of a floating zero, too
  return recorder.handle(builder.value(Opcode::dot, {left, right, zero}));
}

}  // namespace heddle::record
