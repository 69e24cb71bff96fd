// exp, exp2, expm1 and what is made of them: tanh, sigmoid. Each is a range reduction to |r| <= ln 2 / 2, a
// minimax polynomial and a scaling by 2^n.
#include <array>
#include <cmath>

#include "codegen/math/expander.h"

namespace heddle::codegen::math {

namespace {

constexpr double kLog2E = 0x1.715476p+0;
// e^r = 1 + r + r^2 P(r) on |r| <= ln 2 / 2, within 2^-28.2.
constexpr double kExp[] = {1, 1, 0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558acp-5, 0x1.12397cp-7, 0x1.6a511ap-10};
// 2^r = 1 + r P(r) on |r| <= 1/2, within 2^-28.3.
constexpr double kExp2[] = {
    1, 0x1.62e430p-1, 0x1.ebfbdcp-3, 0x1.c6af7cp-5, 0x1.3b2ddep-7, 0x1.5f083cp-10, 0x1.416de6p-13};
// tanh(x) = x + x^3 P(x^2) on |x| <= 0.625, within 2^-27.7.
constexpr double kTanhNear[] = {-0x1.555532p-2, 0x1.1106f6p-3, -0x1.b835a4p-5, 0x1.51f8cep-6, -0x1.750ce4p-8};

// x - n ln 2, where n rounds x / ln 2.
Value* subtract_ln2(Expander& e, Value* x, Value* n) {
  return e.fma(n, e.number(-kLn2Low), e.fma(n, e.number(-kLn2High), x));
}

// Two powers of two whose product is 2^n, for -150 <= n <= 129, from the field n + 2 * kBias. Both are
// normal; their product need not be.
std::array<Value*, 2> halves_of_power(Expander& e, Value* field) {
  Value* half = e.op(Opcode::shr, {field, e.integer(1)});
  return {e.power_of_two(half), e.power_of_two(e.sub(field, half))};
}

// polynomial(r) 2^n, rounded once. A power of two that takes in both ends of f32 comes in halves; since the
// polynomial is near 1, only the second product can be inexact. Down from 1 alone, a constant 2^64 lifts all
// powers to normal numbers, and the polynomial's coefficients take it out again: the same bits for less.
struct Scaling {
  Range range;

  static constexpr int kLift = 64;
  int offset() const { return range == Range::any ? 2 * kBias : kBias + kLift; }
  Value* scaled(Expander& e, Value* r, std::span<const double> coefficients, Value* field) const {
    if (range == Range::not_positive)
      return e.mul(e.polynomial(r, coefficients, std::exp2(-kLift)), e.power_of_two(field));
    const auto [first, second] = halves_of_power(e, field);
    return e.mul(e.mul(e.polynomial(r, coefficients), first), second);
  }
};

}  // namespace

Value* exp(Expander& e, Value* x, Range range) {
  x = e.at_least(x, -104);                        // e^-104 rounds to zero
  if (range == Range::any) x = e.at_most(x, 89);  // e^89 to infinity
  const Scaling scaling{range};
  const Rounded quotient = round_to_integer(e, x, e.number(kLog2E), scaling.offset());
  return scaling.scaled(e, subtract_ln2(e, x, quotient.n), kExp, quotient.field);
}

Value* exp2(Expander& e, Value* x, Range range) {
  x = e.at_least(x, -150);                         // 2^-150 rounds to zero
  if (range == Range::any) x = e.at_most(x, 129);  // 2^129 to infinity
  const Scaling scaling{range};
  const Rounded rounded = round_to_integer(e, x, nullptr, scaling.offset());
  return scaling.scaled(e, e.sub(x, rounded.n), kExp2, rounded.field);
}

// 2^n (e^r - 1) + (2^n - 1), each part scaled by half of 2^n before they meet and by the other half after:
// the difference is exact, or far below the first part. Its sign is that of x, zeros too.
Value* expm1(Expander& e, Value* x, Range) {
  Value* bounded =
      e.at_most(e.at_least(x, -18), 89);  // e^-18 is below half a last place of -1; e^89 overflows
  const Rounded quotient = round_to_integer(e, bounded, e.number(kLog2E), 2 * kBias);
  Value* r = subtract_ln2(e, bounded, quotient.n);
  Value* r_expm1 = e.fma(e.mul(r, r), e.polynomial(r, std::span(kExp).subspan(2)), r);
  const auto [first, second] = halves_of_power(e, quotient.field);
  Value* minus_one = e.power_of_two(
      e.sub(e.integer(2 * kBias), e.sub(quotient.field, e.op(Opcode::shr, {quotient.field, e.integer(1)}))));
  Value* scaled = e.fma(first, r_expm1, e.sub(first, minus_one));
  return e.with_sign_of(x, e.mul(scaled, second));
}

// Near zero an odd polynomial; further out 1 - 2 / (e^2|x| + 1). From 9.02 on it rounds to 1.
Value* tanh(Expander& e, Value* x, Range) {
  constexpr double kNear = 0.625;
  Value* square = e.mul(x, x);
  Value* near = e.fma(x, e.mul(square, e.polynomial(square, kTanhNear)), x);
  Value* a = e.op(Opcode::abs, {x});
  Value* bounded = e.at_most(a, 9.5);
  Value* doubled = e.add(bounded, bounded);
  const Rounded quotient = round_to_integer(e, doubled, e.number(kLog2E), kBias);
  Value* power = e.polynomial(subtract_ln2(e, doubled, quotient.n), kExp);
  Value* denominator = e.fma(power, e.power_of_two(quotient.field), e.number(1));
  Value* far = e.sub(e.number(1), e.div(e.number(2), denominator));
  return e.with_sign_of(x, e.select(e.less(a, e.number(kNear)), near, far));
}

// With e^-|x| = 2^n e^r: 1 / (1 + 2^n e^r), or for negative x 2^n / (2^n + e^-r). Neither power of e is
// rounded by itself: e^+-r - 1 goes into the denominator, and what rounding that loses into one step of
// Newton's for its inverse. 2^n follows in two halves, of which only the second can be inexact, for gradual
// underflow.
Value* sigmoid(Expander& e, Value* x, Range) {
  Value* one = e.number(1);
  Value* negative = e.less(x, e.number(0));
  Value* exponent = e.at_least(e.op(Opcode::neg, {e.op(Opcode::abs, {x})}), -104);
  const Rounded quotient = round_to_integer(e, exponent, e.number(kLog2E), 2 * kBias);
  Value* r = subtract_ln2(e, exponent, quotient.n);
  r = e.select(negative, e.op(Opcode::neg, {r}), r);
  Value* r_expm1 = e.fma(e.mul(r, r), e.polynomial(r, std::span(kExp).subspan(2)), r);
  const auto [first, second] = halves_of_power(e, quotient.field);
  Value* power = e.mul(first, second);
  Value* sum = e.add(one, power);
  Value* lost = e.sub(power, e.sub(sum, one));  // in rounding that sum
  Value* rest = e.fma(e.select(negative, one, power), r_expm1, lost);
  Value* denominator = e.add(sum, rest);
  lost = e.sub(rest, e.sub(denominator, sum));
  Value* inverse = e.div(one, denominator);
  Value* minus_inverse = e.op(Opcode::neg, {inverse});
  Value* residue = e.fma(minus_inverse, lost, e.fma(minus_inverse, denominator, one));
  inverse = e.fma(inverse, residue, inverse);
  return e.mul(e.mul(inverse, e.select(negative, first, one)), e.select(negative, second, one));
}

}  // namespace heddle::codegen::math
