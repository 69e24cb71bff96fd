// The seam's calls that touch memory, variables, the work space and control.
#include "codegen/ir/fail.h"
#include "dsl/numbers.h"
#include "dsl/recorder.h"

namespace heddle::record {

using ir::Opcode;
using ir::Type;

// ---- Memory

Handle load(Handle pointer, Handle mask, Handle fill, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* from = recorder.value(pointer, where);
  std::vector<ir::Value*> operands = {from};
  ir::Builder& builder = recorder.builder(where);
  for (const Handle handle : {mask, fill})
    if (handle != Handle::none)
      operands.push_back(builder.broadcast(recorder.value(handle, where), from->type));
  return recorder.handle(builder.value(Opcode::load, std::move(operands)));
}

void store(Handle pointer, Handle value, Handle mask, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* to = recorder.value(pointer, where);
  std::vector<ir::Value*> operands = {to};
  ir::Builder& builder = recorder.builder(where);
  for (const Handle handle : {value, mask})
    if (handle != Handle::none)
      operands.push_back(builder.broadcast(recorder.value(handle, where), to->type));
  builder.emit(Opcode::store, std::move(operands));
}

namespace {

Handle view_number(Opcode code, const char* what, Handle view, int axis, int fixed, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* of = recorder.value(view, where);
  const int rank = of->type.rank - fixed;
  if (axis < 0 || axis >= rank)
    fail(ErrorKind::trace, where, "{}({}): the view has rank {}, so its axes are 0 to {}", what, axis, rank,
         rank - 1);
  return recorder.handle(recorder.builder(where).value(code, {of}, {{.value = axis + fixed}}));
}

}  // namespace

Handle view_extent(Handle view, int axis, int fixed, Where where) {
  return view_number(Opcode::view_extent, "extent", view, axis, fixed, where);
}
Handle view_stride(Handle view, int axis, int fixed, Where where) {
  return view_number(Opcode::view_stride, "stride", view, axis, fixed, where);
}

Handle load_view(Handle view, const Handle* offsets, int count, Shape shape, Handle fill, Where where) {
  Recorder& recorder = Recorder::current(where);
  std::vector<ir::Value*> operands = {recorder.value(view, where)};
  for (int i = 0; i < count; ++i) operands.push_back(recorder.value(offsets[i], where));
  if (fill != Handle::none) operands.push_back(recorder.value(fill, where));
  const Type type = recorder.tile(operands[0]->type.element, shape, where);
  ir::Op* op = recorder.builder(where).emit(Opcode::load_view, std::move(operands),
                                            {{.value = fill != Handle::none}}, {type});
  return recorder.handle(op->result());
}

void store_view(Handle view, const Handle* offsets, int count, Handle value, Where where) {
  Recorder& recorder = Recorder::current(where);
  std::vector<ir::Value*> operands = {recorder.value(view, where), recorder.value(value, where)};
  for (int i = 0; i < count; ++i) operands.push_back(recorder.value(offsets[i], where));
  recorder.builder(where).emit(Opcode::store_view, std::move(operands));
}

// ---- Variables

Handle variable(Handle initial, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* value = recorder.value(initial, where);
  return recorder.handle(recorder.builder(where).value(Opcode::variable, {value}));
}

Handle read(Handle variable, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* slot = recorder.value(variable, where);
  return recorder.handle(recorder.builder(where).value(Opcode::read_variable, {slot}));
}

void write(Handle variable, Handle value, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* slot = recorder.value(variable, where);
  ir::Value* written = recorder.value(value, where);
  ir::Builder& builder = recorder.builder(where);
  builder.emit(Opcode::write_variable, {slot, builder.broadcast(written, slot->type)});
}

// ---- The work space

Handle program_id(int axis, Where where) {
  Recorder& recorder = Recorder::current(where);
  if (axis < 0 || axis > 2)
    fail(ErrorKind::trace, where, "program_id({}): a launch grid has the axes 0, 1 and 2", axis);
  return recorder.handle(recorder.builder(where).value(Opcode::program_id, {}, {{.value = axis}}));
}

void tile_id(const Handle* extents, const Extent* sizes, int rank, Handle* offsets, Where where) {
  Recorder& recorder = Recorder::current(where);
  recorder.claim_work_space(where);
  std::vector<ir::Value*> operands;
  std::vector<ir::Extent> attributes;
  for (int i = 0; i < rank; ++i) {
    operands.push_back(recorder.value(extents[i], where));
    attributes.push_back(recorder.extent(sizes[i], where));
  }
  const std::vector<Type> results(static_cast<size_t>(rank), Type::scalar(DType::i64));
  ir::Op* op =
      recorder.builder(where).emit(Opcode::tile_id, std::move(operands), std::move(attributes), results);
  for (int i = 0; i < rank; ++i) offsets[i] = recorder.handle(op->result(i));
}

Handle ordinal(Handle offset, Handle first, Handle step, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* distance = recorder.value(offset, where);
  ir::Builder& builder = recorder.builder(where);
  if (first != Handle::none) distance = builder.value(Opcode::sub, {distance, recorder.value(first, where)});
  return recorder.handle(builder.value(Opcode::div, {distance, recorder.value(step, where)}));
}

Handle ceil_div(Handle numerator, Handle denominator, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* above = recorder.value(numerator, where);
  ir::Value* below = recorder.value(denominator, where);
  return recorder.handle(recorder.builder(where).ceil_div(above, below));
}

// ---- Control

OpenLoop open_loop(Handle lower, Handle upper, Handle step, bool cuttable, Where where) {
  Recorder& recorder = Recorder::current(where);
  std::vector<ir::Value*> operands;
  for (const Handle handle : {lower, upper, step}) operands.push_back(recorder.value(handle, where));
  const ir::Op* stride = operands[2]->definition;
  if (stride && stride->code == Opcode::constant &&
      (stride->attribute(0) == 0 || (cuttable && stride->attribute(0) < 0)))
    fail(ErrorKind::trace, where, "a step of {}: {}", stride->attribute(0),
         cuttable ? "a reduction goes upward, so its step is at least 1" : "the loop would never advance");
  ir::Builder& builder = recorder.builder(where);
  ir::Op* op = builder.emit(Opcode::for_loop, std::move(operands), {{.value = cuttable}});
  ir::Region* body = builder.function().new_region(op);
  ir::Value* index = builder.function().add_argument(*body, Type::scalar(DType::i64));
  const uint32_t scope = recorder.open(op, body);
  return {.scope = make_handle(scope, recorder.trace()), .index = recorder.handle(index)};
}

OpenBranch open_branch(Handle condition, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* chosen = recorder.value(condition, where);
  ir::Builder& builder = recorder.builder(where);
  ir::Op* op = builder.emit(Opcode::if_else, {chosen});
  ir::Region* taken = builder.function().new_region(op);
  ir::Region* otherwise = builder.function().new_region(op);
  // Complete without an otherwise(), which takes the yield away again.
  ir::Builder(builder.function(), *otherwise).emit(Opcode::yield, {})->where = where;
  const uint32_t branch = recorder.add_branch(op);
  return {.scope = make_handle(recorder.open(op, taken), recorder.trace()),
          .branch = make_handle(branch, recorder.trace())};
}

Handle open_otherwise(Handle branch, Where where) {
  Recorder& recorder = Recorder::current(where);
  if (trace_of(branch) != recorder.trace())
    fail(ErrorKind::trace, where, "this otherwise() belongs to a when(...) of another kernel's trace");
  ir::Op* op = recorder.take_branch(id_of(branch), where);
  op->regions[1]->ops.clear();
  return make_handle(recorder.open(op, op->regions[1]), recorder.trace());
}

Handle open_while(Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Builder& builder = recorder.builder(where);
  ir::Op* op = builder.emit(Opcode::while_loop, {});
  ir::Region* condition = builder.function().new_region(op);
  builder.function().new_region(op);
  return make_handle(recorder.open(op, condition), recorder.trace());
}

void close_condition(Handle scope, Handle condition, Where where) {
  Recorder& recorder = Recorder::current(where);
  ir::Value* holds = recorder.value(condition, where);
  ir::Op* yield = recorder.builder(where).emit(Opcode::yield, {holds});
  recorder.turn(scope, yield->parent->parent->regions[1]);
}

void report_scalar(DType type, Number number, Where where) {
  fail(ErrorKind::launch, where, "the argument {} does not fit the parameter Scalar<{}>", to_string(number),
       heddle::to_string(type));
}

}  // namespace heddle::record
