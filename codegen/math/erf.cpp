// erf.
#include "codegen/math/expander.h"

namespace heddle::codegen::math {

namespace {

// erf(x) = x + x P(x^2) on |x| <= 0.875, within 2^-26.0.
constexpr double kErfNear[] = {0x1.06eba6p-3,  -0x1.8126eep-2, 0x1.ce1bf4p-4,
                               -0x1.b6a314p-6, 0x1.47cffcp-8,  -0x1.3c9b7ap-11};
// log2(1 - erf(x)) on 0.875 <= x <= 4; erf is then within 2^-28.9.
constexpr double kErfFar[] = {-0x1.9421cep-13, -0x1.a094a0p+0, -0x1.d65510p-1, -0x1.343ffcp-3,
                              0x1.08f960p-5,   -0x1.245ed8p-8, 0x1.300fb4p-12};
// -2^r on |r| <= 1/2, within 2^-23.3: for 1 - erf(x) < 0.22, which erf feels a fifth of.
constexpr double kMinusExp2[] = {
    -1, -0x1.62e42ap-1, -0x1.ebf9c2p-3, -0x1.c6b6dap-5, -0x1.3ce8c6p-7, -0x1.5bda1ap-10};

}  // namespace

// Near zero an odd polynomial; further out 1 - 2^log2(1 - erf |x|). From 3.92 on it rounds to 1.
Value* erf(Expander& e, Value* x, Range) {
  constexpr double kNear = 0.875;
  Value* near = e.fma(x, e.polynomial(e.mul(x, x), kErfNear), x);
  Value* a = e.op(Opcode::abs, {x});
  Value* exponent = e.polynomial(e.at_most(a, 4), kErfFar);
  const Rounded rounded = round_to_integer(e, exponent, nullptr, kBias);
  Value* minus_power = e.polynomial(e.sub(exponent, rounded.n), kMinusExp2);
  Value* far = e.fma(minus_power, e.power_of_two(rounded.field), e.number(1));
  return e.with_sign_of(x, e.select(e.less(a, e.number(kNear)), near, far));
}

}  // namespace heddle::codegen::math
