// The math functions over tile ops: no tables, no branches, one division at most. Each is a range reduction,
// a minimax polynomial and a reconstruction.
//
// The polynomials were fitted for this file: Lawson's iteratively reweighted least squares on 1500 Chebyshev
// points in 40-digit arithmetic, weighted so that the error bounds stated below are those of the whole
// function, relative; then coefficients rounded to f32 one after another, low order first, the rest fitted
// again each time. Rounding in the evaluation comes on top; docs/math.md has the totals, found by trying
// every argument.
#include "codegen/passes/expand_math.h"

#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <unordered_map>

#include "codegen/ir/builder.h"
#include "codegen/ir/fail.h"

namespace heddle::codegen {

namespace {

using ir::Opcode;
using ir::Value;

// Added to |x| < 2^22, leaves x rounded to an integer (nearest even) in the low bits of the sum: there the
// spacing of f32 is 1. Subtracting it again gives the rounded x as a float.
constexpr double kRounder = 0x1.8p23;
constexpr int kBias = 127;  // of f32's exponent field
constexpr int kMantissaBits = 23;

constexpr double kLog2E = 0x1.715476p+0;
// ln 2 in two parts. n * kLn2High is exact within an fma, and so is x - n * kLn2High for the n that rounds x
// / ln 2.
constexpr double kLn2High = 0x1.62e430p-1;
constexpr double kLn2Low = -0x1.05c610p-29;

// e^r = 1 + r + r^2 P(r) on |r| <= ln 2 / 2, within 2^-28.2.
constexpr double kExp[] = {1, 1, 0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558acp-5, 0x1.12397cp-7, 0x1.6a511ap-10};
// 2^r = 1 + r P(r) on |r| <= 1/2, within 2^-28.3.
constexpr double kExp2[] = {
    1, 0x1.62e430p-1, 0x1.ebfbdcp-3, 0x1.c6af7cp-5, 0x1.3b2ddep-7, 0x1.5f083cp-10, 0x1.416de6p-13};
// tanh(x) = x + x^3 P(x^2) on |x| <= 0.625, within 2^-27.7.
constexpr double kTanhNear[] = {-0x1.555532p-2, 0x1.1106f6p-3, -0x1.b835a4p-5, 0x1.51f8cep-6, -0x1.750ce4p-8};
// log(1 + f) = f - f^2 / 2 + f^3 P(f) on sqrt(1/2) <= 1 + f <= sqrt(2), within 2^-27.3 of log(1 + f).
constexpr double kLog[] = {0x1.555554p-2, -0x1.000226p-2, 0x1.99a01cp-3, -0x1.54728ap-3,
                           0x1.22d92ep-3, -0x1.0d8242p-3, 0x1.055ec6p-3, -0x1.38c9dep-4};
// erf(x) = x + x P(x^2) on |x| <= 0.875, within 2^-26.0.
constexpr double kErfNear[] = {0x1.06eba6p-3,  -0x1.8126eep-2, 0x1.ce1bf4p-4,
                               -0x1.b6a314p-6, 0x1.47cffcp-8,  -0x1.3c9b7ap-11};
// log2(1 - erf(x)) on 0.875 <= x <= 4; erf is then within 2^-28.9.
constexpr double kErfFar[] = {-0x1.9421cep-13, -0x1.a094a0p+0, -0x1.d65510p-1, -0x1.343ffcp-3,
                              0x1.08f960p-5,   -0x1.245ed8p-8, 0x1.300fb4p-12};
// -2^r on |r| <= 1/2, within 2^-23.3: for 1 - erf(x) < 0.22, which erf feels a fifth of.
constexpr double kMinusExp2[] = {
    -1, -0x1.62e42ap-1, -0x1.ebf9c2p-3, -0x1.c6b6dap-5, -0x1.3ce8c6p-7, -0x1.5bda1ap-10};

// Arithmetic on f32 values of one shape.
class Expander {
 public:
  Expander(ir::Builder& builder, const ir::Type& shape)
      : builder_(builder), float_(shape.with_element(DType::f32)), int_(shape.with_element(DType::i32)) {}

  Value* number(double value) { return builder_.constant(float_, value); }
  Value* integer(int64_t value) { return builder_.integer(int_, {.value = value}); }
  Value* op(Opcode code, std::vector<Value*> operands) { return builder_.value(code, std::move(operands)); }
  Value* add(Value* a, Value* b) { return op(Opcode::add, {a, b}); }
  Value* sub(Value* a, Value* b) { return op(Opcode::sub, {a, b}); }
  Value* mul(Value* a, Value* b) { return op(Opcode::mul, {a, b}); }
  Value* div(Value* a, Value* b) { return op(Opcode::div, {a, b}); }
  Value* fma(Value* a, Value* b, Value* c) { return op(Opcode::fma, {a, b, c}); }
  Value* less(Value* a, Value* b) { return op(Opcode::lt, {a, b}); }
  Value* select(Value* condition, Value* yes, Value* no) { return op(Opcode::select, {condition, yes, no}); }
  Value* bits(Value* a) { return builder_.bitcast(a, DType::i32); }
  Value* from_bits(Value* a) { return builder_.bitcast(a, DType::f32); }
  Value* to_float(Value* a) { return builder_.cast(a, DType::f32); }

  // NaN passes through both; each is one instruction where min and max of NaN take several.
  Value* at_least(Value* a, double bound) { return select(less(a, number(bound)), number(bound), a); }
  Value* at_most(Value* a, double bound) { return select(less(number(bound), a), number(bound), a); }

  // Horner's rule; coefficients from the constant term up, each times `factor`.
  Value* polynomial(Value* x, std::span<const double> coefficients, double factor = 1) {
    Value* sum = number(factor * coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) sum = fma(sum, x, number(factor * coefficients[i]));
    return sum;
  }

  Value* with_sign_of(Value* sign, Value* magnitude) {
    Value* sign_bit = op(Opcode::bit_and, {bits(sign), integer(std::numeric_limits<int32_t>::min())});
    return from_bits(op(Opcode::bit_or, {sign_bit, bits(magnitude)}));
  }

  // The float whose exponent field is the low 8 bits of `a`: 2^(a - kBias). Bit 8 must be 0; the bits above
  // go.
  Value* power_of_two(Value* a) { return from_bits(op(Opcode::shl, {a, integer(kMantissaBits)})); }

 private:
  ir::Builder& builder_;
  ir::Type float_, int_;
};

// An integer n as a float, and again in the low bits of `field`, plus a multiple of 2^9 and the offset asked
// for.
struct Rounded {
  Value* n;
  Value* field;
};

// Rounds a * b, or `a` where b is null.
Rounded round_to_integer(Expander& e, Value* a, Value* b, int offset) {
  Value* rounder = e.number(kRounder + offset);
  Value* sum = b ? e.fma(a, b, rounder) : e.add(a, rounder);
  return {.n = e.sub(sum, rounder), .field = e.bits(sum)};
}

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

// What is known of an argument; NaN may be among it all the same.
enum class Range { any, not_positive };

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

Value* expand_exp(Expander& e, Value* x, Range range) {
  x = e.at_least(x, -104);                        // e^-104 rounds to zero
  if (range == Range::any) x = e.at_most(x, 89);  // e^89 to infinity
  const Scaling scaling{range};
  const Rounded quotient = round_to_integer(e, x, e.number(kLog2E), scaling.offset());
  return scaling.scaled(e, subtract_ln2(e, x, quotient.n), kExp, quotient.field);
}

Value* expand_exp2(Expander& e, Value* x, Range range) {
  x = e.at_least(x, -150);                         // 2^-150 rounds to zero
  if (range == Range::any) x = e.at_most(x, 129);  // 2^129 to infinity
  const Scaling scaling{range};
  const Rounded rounded = round_to_integer(e, x, nullptr, scaling.offset());
  return scaling.scaled(e, e.sub(x, rounded.n), kExp2, rounded.field);
}

// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); log x = k ln 2 + log(1 + f).
Value* expand_log(Expander& e, Value* x, Range) {
  constexpr int kSqrtHalf = 0x3f3504f3;  // bits of sqrt(1/2)
  Value* zero = e.number(0);
  Value* subnormal = e.less(x, e.number(0x1p-126));
  Value* field = e.bits(e.select(subnormal, e.mul(x, e.number(0x1p23)), x));
  Value* k = e.op(Opcode::shr, {e.sub(field, e.integer(kSqrtHalf)), e.integer(kMantissaBits)});
  Value* f = e.sub(e.from_bits(e.sub(field, e.op(Opcode::shl, {k, e.integer(kMantissaBits)}))), e.number(1));
  k = e.add(e.to_float(k), e.select(subnormal, e.number(-23), zero));
  Value* square = e.mul(f, f);
  Value* tail = e.mul(e.mul(f, square), e.polynomial(f, kLog));
  tail = e.fma(square, e.number(-0.5), e.fma(k, e.number(kLn2Low), tail));
  Value* finite = e.fma(k, e.number(kLn2High), e.add(f, tail));
  Value* positive = e.select(e.less(x, e.number(INFINITY)), finite, x);
  Value* other = e.select(e.op(Opcode::eq, {x, zero}), e.number(-INFINITY), e.number(NAN));
  return e.select(e.less(zero, x), positive, other);
}

// Near zero an odd polynomial; further out 1 - 2 / (e^2|x| + 1). From 9.02 on it rounds to 1.
Value* expand_tanh(Expander& e, Value* x, Range) {
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

// Near zero an odd polynomial; further out 1 - 2^log2(1 - erf |x|). From 3.92 on it rounds to 1.
Value* expand_erf(Expander& e, Value* x, Range) {
  constexpr double kNear = 0.875;
  Value* near = e.fma(x, e.polynomial(e.mul(x, x), kErfNear), x);
  Value* a = e.op(Opcode::abs, {x});
  Value* exponent = e.polynomial(e.at_most(a, 4), kErfFar);
  const Rounded rounded = round_to_integer(e, exponent, nullptr, kBias);
  Value* minus_power = e.polynomial(e.sub(exponent, rounded.n), kMinusExp2);
  Value* far = e.fma(minus_power, e.power_of_two(rounded.field), e.number(1));
  return e.with_sign_of(x, e.select(e.less(a, e.number(kNear)), near, far));
}

// With e^-|x| = 2^n e^r: 1 / (1 + 2^n e^r), or for negative x 2^n / (2^n + e^-r). Neither power of e is
// rounded by itself: e^+-r - 1 goes into the denominator, and what rounding that loses into one step of
// Newton's for its inverse. 2^n follows in two halves, of which only the second can be inexact, for gradual
// underflow.
Value* expand_sigmoid(Expander& e, Value* x, Range) {
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

using Expansion = Value* (*)(Expander&, Value*, Range);

Expansion expansion_of(Opcode code) {
  switch (code) {
    case Opcode::exp: return expand_exp;
    case Opcode::exp2: return expand_exp2;
    case Opcode::log: return expand_log;
    case Opcode::tanh: return expand_tanh;
    case Opcode::erf: return expand_erf;
    case Opcode::sigmoid: return expand_sigmoid;
    default: return nullptr;
  }
}

// Whether each lane of `bound` is at least that of `value`, or NaN, as far as `depth` ops show.
bool is_upper_bound(const Value* bound, const Value* value, int depth = 8) {
  if (bound == value) return true;
  const ir::Op* op = bound->definition;
  if (!op || depth == 0) return false;
  const auto bounds = [&](const Value* operand) { return is_upper_bound(operand, value, depth - 1); };
  switch (op->code) {
    case Opcode::broadcast: return bounds(op->operands[0]);
    case Opcode::max: return bounds(op->operands[0]) || bounds(op->operands[1]);
    case Opcode::reduce:
      return ir::ReduceKind(op->attribute(0)) == ir::ReduceKind::max && op->operands[0] == value;
    default: return false;
  }
}

// A number less an upper bound of it is what normalised weights are exponentials of.
Range range_of(const Value* value) {
  const ir::Op* op = value->definition;
  const bool below_bound = op && op->code == Opcode::sub && is_upper_bound(op->operands[1], op->operands[0]);
  return below_bound ? Range::not_positive : Range::any;
}

// Rebuilds each region's op list; uses come after definitions, so operands are replaced on the way.
void expand_region(ir::Function& function, ir::Region& region, std::unordered_map<Value*, Value*>& replaced) {
  std::vector<ir::Op*> ops;
  ir::Builder builder(function, region, ops);
  for (ir::Op* op : region.ops) {
    for (Value*& operand : op->operands)
      if (auto found = replaced.find(operand); found != replaced.end()) operand = found->second;
    const Expansion expansion = expansion_of(op->code);
    if (!expansion) {
      ops.push_back(op);
      for (ir::Region* inner : op->regions) expand_region(function, *inner, replaced);
      continue;
    }
    const DType type = op->result()->type.element;
    if (type == DType::f64)
      fail(ErrorKind::unsupported, op->where,
           "{} of f64 is not available; cast to f32 and back where f32's precision is enough",
           ir::info(op->code).name);
    builder.where = op->where;
    Expander expander(builder, op->result()->type);
    replaced[op->result()] = builder.cast(
        expansion(expander, builder.cast(op->operands[0], DType::f32), range_of(op->operands[0])), type);
  }
  region.ops = std::move(ops);
}

}  // namespace

bool has_math(const ir::Function& function) {
  bool found = false;
  ir::walk(function.body, [&](const ir::Op* op) { found = found || expansion_of(op->code); });
  return found;
}

void expand_math(ir::Function& function) {
  std::unordered_map<Value*, Value*> replaced;
  expand_region(function, function.body, replaced);
}

}  // namespace heddle::codegen
