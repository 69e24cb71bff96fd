// log, log2, log1p: x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), and a minimax polynomial in f.
#include <cmath>

#include "codegen/math/expander.h"

namespace heddle::codegen::math {

namespace {

// log(1 + f) = f - f^2 / 2 + f^3 P(f) on sqrt(1/2) <= 1 + f <= sqrt(2), within 2^-27.3 of log(1 + f).
constexpr double kLog[] = {0x1.555554p-2, -0x1.000226p-2, 0x1.99a01cp-3, -0x1.54728ap-3,
                           0x1.22d92ep-3, -0x1.0d8242p-3, 0x1.055ec6p-3, -0x1.38c9dep-4};
// 1 / ln 2 in two parts.
constexpr double kLog2EHigh = 0x1.715476p+0;
constexpr double kLog2ELow = 0x1.4ae0c0p-26;

constexpr int kSqrtHalf = 0x3f3504f3;  // bits of sqrt(1/2)

// k of a positive normal number's bits.
Value* exponent(Expander& e, Value* field) {
  return e.op(Opcode::shr, {e.sub(field, e.integer(kSqrtHalf)), e.integer(kMantissaBits)});
}

// f of it.
Value* mantissa(Expander& e, Value* field, Value* k) {
  return e.sub(e.from_bits(e.sub(field, e.op(Opcode::shl, {k, e.integer(kMantissaBits)}))), e.number(1));
}

struct Split {
  Value* k;  // as a float
  Value* f;
};

// Of positive x; subnormals count in full.
Split split(Expander& e, Value* x) {
  Value* subnormal = e.less(x, e.number(0x1p-126));
  Value* field = e.bits(e.select(subnormal, e.mul(x, e.number(0x1p23)), x));
  Value* k = exponent(e, field);
  Value* scaled_back = e.select(subnormal, e.number(-23), e.number(0));
  return {.k = e.add(e.to_float(k), scaled_back), .f = mantissa(e, field, k)};
}

// log(1 + f) - f + f^2 / 2
Value* tail(Expander& e, Value* f, Value* square) {
  return e.mul(e.mul(f, square), e.polynomial(f, kLog));
}

// k ln 2 + log(1 + f)
Value* logarithm(Expander& e, const Split& split) {
  Value* square = e.mul(split.f, split.f);
  Value* low = e.fma(square, e.number(-0.5), e.fma(split.k, e.number(kLn2Low), tail(e, split.f, square)));
  return e.fma(split.k, e.number(kLn2High), e.add(split.f, low));
}

// `positive` where 0 < x < infinity; what a logarithm is elsewhere.
Value* with_ends(Expander& e, Value* x, Value* positive) {
  Value* zero = e.number(0);
  Value* upper = e.select(e.less(x, e.number(INFINITY)), positive, x);
  Value* other = e.select(e.op(Opcode::eq, {x, zero}), e.number(-INFINITY), e.number(NAN));
  return e.select(e.less(zero, x), upper, other);
}

}  // namespace

Value* log(Expander& e, Value* x, Range) {
  return with_ends(e, x, logarithm(e, split(e, x)));
}

// k + f / ln 2 + (log(1 + f) - f) / ln 2, where the first two terms and their sum keep what rounding loses.
Value* log2(Expander& e, Value* x, Range) {
  const auto [k, f] = split(e, x);
  Value* square = e.mul(f, f);
  Value* high = e.number(kLog2EHigh);
  Value* product = e.mul(f, high);
  Value* lost = e.fma(f, e.number(kLog2ELow), e.fma(f, high, e.op(Opcode::neg, {product})));
  Value* sum = e.add(k, product);
  lost = e.add(lost, e.sub(product, e.sub(sum, k)));
  Value* rest = e.fma(square, e.number(-0.5), tail(e, f, square));
  return with_ends(e, x, e.add(sum, e.fma(rest, high, lost)));
}

// 1 + x, rounded, gives k; f = 2^-k x + (2^-k - 1) is rounded once, and not at all for k = 0, where it is x.
// Where 1 is far below x, log(x) will do.
Value* log1p(Expander& e, Value* x, Range) {
  Value* sum = e.add(x, e.number(1));
  Value* k = exponent(e, e.bits(sum));
  Value* inverse = e.power_of_two(e.sub(e.integer(kBias), k));
  Value* exact = e.fma(x, inverse, e.sub(inverse, e.number(1)));
  Value* f = e.select(e.less(x, e.number(0x1p64)), exact, mantissa(e, e.bits(x), k));
  Value* positive = logarithm(e, {.k = e.to_float(k), .f = f});
  return e.with_sign_of(x, with_ends(e, sum, positive));
}

}  // namespace heddle::codegen::math
