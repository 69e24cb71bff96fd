// sin and cos of any f32. x = q pi/2 + r with |r| <= pi/4: the fraction of x * 2/pi is found in 94 bits, by
// the method of M. Payne and R. Hanek, "Radian Reduction for Trigonometric Functions" (SIGNUM Newsletter 18,
// 1983): of 2/pi, only the bits that matter at the exponent of x are multiplied.
#include <array>
#include <cmath>

#include "codegen/math/expander.h"

namespace heddle::codegen::math {

namespace {

// sin(r) = r + r^3 P(r^2) and cos(r) = 1 - r^2 / 2 + r^4 P(r^2) on |r| <= pi/4, within 2^-27.9 and 2^-32.9.
constexpr double kSin[] = {-0x1.555546p-3, 0x1.110778p-7, -0x1.9954p-13};
constexpr double kCos[] = {0x1.55554ap-5, -0x1.6c0c2ap-10, 0x1.99e90ep-16};

// 32 zeros, then the bits of 2/pi behind the point.
constexpr std::array<int64_t, 8> kTwoOverPi = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                               0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kQuarterPi = 0x1.921fb6p-1;  // the next f32

// |x|, as a number of quadrants and a remainder.
struct Reduced {
  Value* r;
  Value* quadrant;  // i32, of which the low two bits count
};

class Reduction {
 public:
  explicit Reduction(Expander& e) : e_(e) {}

  Reduced of(Value* x) {
    Value* magnitude = e_.op(Opcode::abs, {x});
    Value* field = e_.bits(magnitude);
    Value* exponent = e_.op(Opcode::shr, {field, e_.integer(kMantissaBits)});
    // |x| = m 2^(exponent - 150). Bits of 2/pi that m turns into multiples of 4 are left out: the window
    // starts exponent - 152 behind the point.
    const Window window = window_at(e_.cast(e_.add(exponent, e_.integer(32 - 152)), DType::i64));
    Value* fraction_bits = e_.op(Opcode::bit_and, {field, e_.integer((1 << kMantissaBits) - 1)});
    Value* m = e_.cast(e_.op(Opcode::bit_or, {fraction_bits, e_.integer(1 << kMantissaBits)}), DType::i64);
    // In quadrants, modulo 4: two bits in front of the point, 62 behind.
    Value* turn = e_.add(e_.mul(m, window.high), shr(e_.mul(m, window.low), 32));
    Value* fraction = e_.cast(shr(shl(turn, 2), 2), DType::f64);
    Value* quadrant = e_.cast(shr(e_.add(shr(turn, 61), whole(1)), 1), DType::i32);
    Value* r = e_.cast(e_.mul(fraction, e_.number(kHalfPi * 0x1p-62, DType::f64)), DType::f32);

    r = e_.select(e_.less(magnitude, e_.number(INFINITY)), r, e_.number(NAN));
    Value* small = e_.less(magnitude, e_.number(kQuarterPi));
    return {.r = e_.select(small, magnitude, r), .quadrant = e_.select(small, e_.integer(0), quadrant)};
  }

 private:
  struct Window {
    Value *high, *low;  // 64 bits, and the 32 that follow
  };

  Value* whole(int64_t value) { return e_.integer(value, DType::i64); }
  Value* shl(Value* a, int64_t count) { return e_.op(Opcode::shl, {a, whole(count)}); }
  Value* shr(Value* a, int64_t count) { return e_.op(Opcode::shr, {a, whole(count)}); }
  Value* join(Value* a, Value* b) { return e_.op(Opcode::bit_or, {a, b}); }

  // 96 bits of kTwoOverPi from bit `start` on, 0 <= start < 160: four of its words, found bit by bit of the
  // first one's number, and shifted together.
  Window window_at(Value* start) {
    std::array<Value*, kTwoOverPi.size()> word;
    for (size_t i = 0; i < word.size(); ++i) word[i] = whole(kTwoOverPi[i]);
    struct Step {
      size_t words, kept;
    };
    for (const auto [words, kept] : {Step{4, 4}, Step{2, 5}, Step{1, 4}}) {
      Value* bit = e_.op(Opcode::bit_and, {start, whole(32 * int64_t(words))});
      Value* forward = e_.op(Opcode::ne, {bit, whole(0)});
      for (size_t i = 0; i < kept; ++i) word[i] = e_.select(forward, word[i + words], word[i]);
    }
    Value* count = e_.op(Opcode::bit_and, {start, whole(31)});
    const auto shifted = [&](Value* a) { return e_.op(Opcode::shl, {a, count}); };
    Value* third = shifted(word[2]);
    return {.high = join(shifted(join(shl(word[0], 32), word[1])), shr(third, 32)),
            .low = join(e_.op(Opcode::bit_and, {third, whole(0xffffffff)}), shr(shifted(word[3]), 32))};
  }

  Expander& e_;
};

// sin(r + quadrant pi/2)
Value* sine(Expander& e, const Reduced& angle) {
  Value* square = e.mul(angle.r, angle.r);
  Value* sine = e.fma(e.mul(angle.r, square), e.polynomial(square, kSin), angle.r);
  // 1 - r^2 / 2, and what rounding it loses.
  Value* one = e.number(1);
  Value* half_square = e.mul(square, e.number(0.5));
  Value* near = e.sub(one, half_square);
  Value* lost = e.sub(e.sub(one, near), half_square);
  Value* cosine = e.add(near, e.fma(e.mul(square, square), e.polynomial(square, kCos), lost));
  Value* odd = e.op(Opcode::ne, {e.op(Opcode::bit_and, {angle.quadrant, e.integer(1)}), e.integer(0)});
  Value* behind = e.op(Opcode::shl, {e.op(Opcode::bit_and, {angle.quadrant, e.integer(2)}), e.integer(30)});
  return e.from_bits(e.op(Opcode::bit_xor, {e.bits(e.select(odd, cosine, sine)), behind}));
}

}  // namespace

Value* sin(Expander& e, Value* x, Range) {
  Value* sign = e.op(Opcode::bit_and, {e.bits(x), e.integer(std::numeric_limits<int32_t>::min())});
  return e.from_bits(e.op(Opcode::bit_xor, {e.bits(sine(e, Reduction(e).of(x))), sign}));
}

Value* cos(Expander& e, Value* x, Range) {
  Reduced angle = Reduction(e).of(x);
  angle.quadrant = e.add(angle.quadrant, e.integer(1));
  return sine(e, angle);
}

}  // namespace heddle::codegen::math
