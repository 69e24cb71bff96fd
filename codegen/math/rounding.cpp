// Functions made of those that the hardware rounds correctly: floor and sqrt.
#include "codegen/math/expander.h"

namespace heddle::codegen::math {

Value* ceil(Expander& e, Value* x, Range) {
  return e.op(Opcode::neg, {e.op(Opcode::floor, {e.op(Opcode::neg, {x})})});
}

Value* trunc(Expander& e, Value* x, Range) {
  return e.with_sign_of(x, e.op(Opcode::floor, {e.op(Opcode::abs, {x})}));
}

// Halves away from zero. The difference is exact.
Value* round(Expander& e, Value* x, Range) {
  Value* magnitude = e.op(Opcode::abs, {x});
  Value* whole = e.op(Opcode::floor, {magnitude});
  Value* below = e.less(e.sub(magnitude, whole), e.number(0.5));
  Value* next = e.add(whole, e.number(1));
  // An infinity less itself is NaN, which is below nothing; its next is itself.
  return e.with_sign_of(x, e.select(below, whole, next));
}

Value* rsqrt(Expander& e, Value* x, Range) {
  return e.div(e.number(1), e.op(Opcode::sqrt, {x}));
}

}  // namespace heddle::codegen::math
