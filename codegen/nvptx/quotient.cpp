// Division and square root of f32, correctly rounded, all lanes of a thread at once.
//
// Of div.rn and sqrt.rn ptxas makes a few instructions, a test whether they are right for this lane's
// arguments, and a call where not: a branch for each lane, and between so many branches nothing is scheduled
// and every tile around is kept whole. Here one test is for all lanes of a thread: they take ptxas's few
// instructions together, or its long way one by one.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cmath>

#include "codegen/llvm/lane_ops.h"
#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

// Fewer lanes are no worse off with ptxas's branches.
constexpr size_t kManyLanes = 4;

// Within these the few instructions of a division neither overflow nor lose bits at the lower end, whatever
// the other operand is. Wider than what most data needs, narrower than what ptxas tests for.
constexpr double kSmallDividend = 0x1p-90, kLargeDividend = 0x1p90;
constexpr double kSmallDivisor = 0x1p-30, kLargeDivisor = 0x1p30;
// ptxas's own lower bound for square roots.
constexpr double kSmallSquare = 0x1p-101;

class LanesAtOnce {
 public:
  explicit LanesAtOnce(Emitter& e) : e_(e), b_(e.builder) {}

  Value* number(double value) { return llvm::ConstantFP::get(b_.getFloatTy(), value); }
  Value* fma(Value* a, Value* m, Value* c) { return fused_multiply_add(e_, a, m, c); }
  Value* call(ID id, Value* value) { return b_.CreateIntrinsic(id, {}, {value}); }

  Registers magnitudes(Registers values) {
    for (Value*& value : values) value = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    return values;
  }
  // NaN is passed over: any arithmetic is right for it.
  Value* all_above(const Registers& values, double bound) {
    return b_.CreateFCmpOGT(extreme(llvm::Intrinsic::minnum, values), number(bound));
  }
  Value* all_below(const Registers& values, double bound) {
    return b_.CreateFCmpOLT(extreme(llvm::Intrinsic::maxnum, values), number(bound));
  }

  // Whether each value is above `bound` in magnitude, or +0. Zeros are looked for only where there are small
  // values at all.
  Value* all_above_or_zero(const Registers& values, double bound) {
    const Registers sizes = magnitudes(values);
    Value* above = all_above(sizes, bound);
    llvm::BasicBlock *before = b_.GetInsertBlock(), *look = e_.new_block("zeros"),
                     *join = e_.new_block("bounded");
    b_.CreateCondBr(above, join, look);
    b_.SetInsertPoint(look);
    Registers others;
    for (size_t i = 0; i < values.size(); ++i) {
      Value* zero = b_.CreateICmpEQ(b_.CreateBitCast(values[i], b_.getInt32Ty()), e_.i32(0));
      others.push_back(b_.CreateSelect(zero, number(1), sizes[i]));
    }
    Value* rest_above = all_above(others, bound);
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    llvm::PHINode* phi = b_.CreatePHI(b_.getInt1Ty(), 2);
    phi->addIncoming(b_.getTrue(), before);
    phi->addIncoming(rest_above, look);
    return phi;
  }

  // quick() where `safe`, else plain(); each gives as many registers.
  Registers either(Value* safe, const std::function<Registers()>& quick,
                   const std::function<Registers()>& plain) {
    llvm::BasicBlock *in_quick = e_.new_block("quick"), *in_plain = e_.new_block("plain"),
                     *join = e_.new_block("rounded");
    b_.CreateCondBr(safe, in_quick, in_plain);
    b_.SetInsertPoint(in_quick);
    const Registers quick_ones = quick();
    b_.CreateBr(join);
    b_.SetInsertPoint(in_plain);
    const Registers plain_ones = plain();
    b_.CreateBr(join);
    b_.SetInsertPoint(join);
    Registers result;
    for (size_t i = 0; i < quick_ones.size(); ++i) {
      llvm::PHINode* phi = b_.CreatePHI(b_.getFloatTy(), 2);
      phi->addIncoming(quick_ones[i], in_quick);
      phi->addIncoming(plain_ones[i], in_plain);
      result.push_back(phi);
    }
    return result;
  }

 private:
  Value* extreme(ID which, const Registers& values) {
    Value* found = values[0];
    for (size_t i = 1; i < values.size(); ++i) found = b_.CreateBinaryIntrinsic(which, found, values[i]);
    return found;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
};

}  // namespace

Registers quotients(Emitter& e, const Registers& x, const Registers& d) {
  auto& b = e.builder;
  const auto plain = [&] {
    Registers out;
    for (size_t i = 0; i < x.size(); ++i) out.push_back(b.CreateFDiv(x[i], d[i]));
    return out;
  };
  if (x.size() < kManyLanes) return plain();
  LanesAtOnce lanes(e);
  // Lanes of a row often share their divisor: its reciprocal is made once.
  std::unordered_map<Value*, Value*> reciprocals;
  Registers divisors;
  for (Value* divisor : d)
    if (reciprocals.emplace(divisor, nullptr).second) divisors.push_back(divisor);
  const Registers sizes = lanes.magnitudes(divisors);
  Value* safe = b.CreateAnd(lanes.all_above(sizes, kSmallDivisor), lanes.all_below(sizes, kLargeDivisor));
  safe = b.CreateAnd(safe, lanes.all_below(lanes.magnitudes(x), kLargeDividend));
  safe = b.CreateAnd(lanes.all_above_or_zero(x, kSmallDividend), safe);
  return lanes.either(
      safe,
      [&] {
        for (Value* divisor : divisors) {
          Value* y = lanes.call(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, divisor);
          reciprocals[divisor] = lanes.fma(y, lanes.fma(y, b.CreateFNeg(divisor), lanes.number(1)), y);
        }
        Registers out;
        for (size_t i = 0; i < x.size(); ++i) {
          Value* y = reciprocals[d[i]];
          Value* q = b.CreateFMul(x[i], y);
          out.push_back(lanes.fma(y, lanes.fma(q, b.CreateFNeg(d[i]), x[i]), q));
        }
        return out;
      },
      plain);
}

Registers square_roots(Emitter& e, const Registers& x) {
  auto& b = e.builder;
  const auto plain = [&] {
    Registers out;
    for (Value* value : x) out.push_back(b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, value));
    return out;
  };
  if (x.size() < kManyLanes) return plain();
  LanesAtOnce lanes(e);
  Value* safe = b.CreateAnd(lanes.all_above(x, kSmallSquare), lanes.all_below(x, HUGE_VAL));
  return lanes.either(
      safe,
      [&] {
        Registers out;
        for (Value* value : x) {
          Value* y = lanes.call(llvm::Intrinsic::nvvm_rsqrt_approx_ftz_f, value);
          Value* root = b.CreateFMul(value, y);
          Value* half = b.CreateFMul(y, lanes.number(0.5));
          out.push_back(lanes.fma(lanes.fma(b.CreateFNeg(root), root, value), half, root));
        }
        return out;
      },
      plain);
}

}  // namespace heddle::codegen::nvptx
