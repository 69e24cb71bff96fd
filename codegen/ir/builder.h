// Makes checked ops and appends them to a list. The one door through which ops enter a function: the tracer
// and every pass use it.
#pragma once

#include <vector>

#include "codegen/ir/error.h"
#include "codegen/ir/ir.h"

namespace heddle::ir {

class Builder {
 public:
  // Appends to `list`, the op list that `region` has or will have.
  Builder(Function& function, Region& region, std::vector<Op*>& list)
      : function_(function), region_(&region), list_(&list) {}
  Builder(Function& function, Region& region) : Builder(function, region, region.ops) {}

  Function& function() { return function_; }
  Region& region() { return *region_; }
  void set_region(Region& region) { region_ = &region, list_ = &region.ops; }

  // Location of the ops made from here on.
  Location where;
  // Kind of the Error thrown when an op breaks a rule: the tracer's user is to blame for `trace`, we for
  // `internal`.
  ErrorKind blame = ErrorKind::internal;

  // The general form: `results` are the types where infer() has no answer. Throws Error with check()'s
  // sentence. Ops with regions are checked when their regions are complete, by the caller or the verifier.
  Op* emit(Opcode code, std::vector<Value*> operands, std::vector<Extent> attributes = {},
           std::vector<Type> results = {});

  // One-result forms. Operands of binary and ternary forms have one shape already.
  Value* value(Opcode code, std::vector<Value*> operands, std::vector<Extent> attributes = {});
  Value* constant(Type type, double value);  // of a float or integer type
  Value* integer(Type type, Extent value);   // of an integer or boolean type; may name a dim
  Value* index(int64_t value) { return integer(Type::scalar(DType::i64), {.value = value}); }
  Value* cast(Value* operand, DType to);  // the operand itself where nothing changes
  Value* bitcast(Value* operand, DType to);
  Value* broadcast(Value* operand, const Type& shape);  // to shape's extents, keeping the element
  Value* reduce(Value* operand, ReduceKind kind, int axis);
  Value* ceil_div(Value* numerator, Value* denominator);  // of i64 scalars, both positive

 private:
  Function& function_;
  Region* region_;
  std::vector<Op*>* list_;
};

}  // namespace heddle::ir
