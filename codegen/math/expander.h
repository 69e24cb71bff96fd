// What the math functions are written with, and the list of them: each composes the other ops of the table.
// No tables, no branches, one division at most.
//
// The polynomials were fitted for these files: Lawson's iteratively reweighted least squares on Chebyshev
// points in 40-digit arithmetic, weighted so that the error bounds stated beside them are those of the whole
// function, relative; then coefficients rounded to f32 one after another, low order first, the rest fitted
// again each time. Rounding in the evaluation comes on top; docs/math.md has the totals, found by trying
// every argument.
#pragma once

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "codegen/ir/builder.h"

namespace heddle::codegen::math {

using ir::Opcode;
using ir::Value;

constexpr int kBias = 127;  // of f32's exponent field
constexpr int kMantissaBits = 23;

// ln 2 in two parts. n * kLn2High is exact within an fma, and so is x - n * kLn2High for the n that rounds x
// / ln 2.
constexpr double kLn2High = 0x1.62e430p-1;
constexpr double kLn2Low = -0x1.05c610p-29;

// Arithmetic on values of one shape and one float type, f32 or f64.
class Expander {
 public:
  Expander(ir::Builder& builder, const ir::Type& shape, DType type)
      : builder_(builder), float_(shape.with_element(type)) {}

  DType type() const { return float_.element; }
  Value* number(double value) { return number(value, type()); }
  Value* number(double value, DType type) { return builder_.constant(float_.with_element(type), value); }
  // Of the type that holds a float's bits, or of the one named.
  Value* integer(int64_t value) { return integer(value, bits_type()); }
  Value* integer(int64_t value, DType type) {
    return builder_.integer(float_.with_element(type), {.value = value});
  }
  Value* op(Opcode code, std::vector<Value*> operands) { return builder_.value(code, std::move(operands)); }
  Value* add(Value* a, Value* b) { return op(Opcode::add, {a, b}); }
  Value* sub(Value* a, Value* b) { return op(Opcode::sub, {a, b}); }
  Value* mul(Value* a, Value* b) { return op(Opcode::mul, {a, b}); }
  Value* div(Value* a, Value* b) { return op(Opcode::div, {a, b}); }
  Value* fma(Value* a, Value* b, Value* c) { return op(Opcode::fma, {a, b, c}); }
  Value* less(Value* a, Value* b) { return op(Opcode::lt, {a, b}); }
  Value* select(Value* condition, Value* yes, Value* no) { return op(Opcode::select, {condition, yes, no}); }
  Value* bits(Value* a) { return builder_.bitcast(a, bits_type()); }
  Value* from_bits(Value* a) { return builder_.bitcast(a, type()); }
  Value* to_float(Value* a) { return cast(a, type()); }
  Value* cast(Value* a, DType to) { return builder_.cast(a, to); }

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
    const int64_t mask =
        type() == DType::f64 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
    Value* sign_bit = op(Opcode::bit_and, {bits(sign), integer(mask)});
    return from_bits(op(Opcode::bit_or, {sign_bit, bits(magnitude)}));
  }

  // The f32 whose exponent field is the low 8 bits of `a`: 2^(a - kBias). Bit 8 must be 0; the bits above
  // go.
  Value* power_of_two(Value* a) { return from_bits(op(Opcode::shl, {a, integer(kMantissaBits)})); }

 private:
  DType bits_type() const { return type() == DType::f64 ? DType::i64 : DType::i32; }

  ir::Builder& builder_;
  ir::Type float_;
};

// Added to |x| < 2^22, leaves x rounded to an integer (nearest even) in the low bits of the sum: there the
// spacing of f32 is 1. Subtracting it again gives the rounded x as a float.
constexpr double kRounder = 0x1.8p23;
// An integer n as a float, and again in the low bits of `field`, plus a multiple of 2^9 and the offset asked
// for.
struct Rounded {
  Value* n;
  Value* field;
};

// Rounds a * b, or `a` where b is null.
inline Rounded round_to_integer(Expander& e, Value* a, Value* b, int offset) {
  Value* rounder = e.number(kRounder + offset);
  Value* sum = b ? e.fma(a, b, rounder) : e.add(a, rounder);
  return {.n = e.sub(sum, rounder), .field = e.bits(sum)};
}

// What is known of an argument; NaN may be among it all the same.
enum class Range { any, not_positive };

// Of f32 arguments (exponentials.cpp, logarithms.cpp, erf.cpp, trigonometry.cpp).
Value* exp(Expander& e, Value* x, Range range);
Value* exp2(Expander& e, Value* x, Range range);
Value* expm1(Expander& e, Value* x, Range);
Value* tanh(Expander& e, Value* x, Range);
Value* sigmoid(Expander& e, Value* x, Range);
Value* log(Expander& e, Value* x, Range);
Value* log2(Expander& e, Value* x, Range);
Value* log1p(Expander& e, Value* x, Range);
Value* erf(Expander& e, Value* x, Range);
Value* sin(Expander& e, Value* x, Range);
Value* cos(Expander& e, Value* x, Range);
// Of f32 and f64 (rounding.cpp).
Value* ceil(Expander& e, Value* x, Range);
Value* trunc(Expander& e, Value* x, Range);
Value* round(Expander& e, Value* x, Range);
Value* rsqrt(Expander& e, Value* x, Range);

}  // namespace heddle::codegen::math
