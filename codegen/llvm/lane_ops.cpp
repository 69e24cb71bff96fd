#include "codegen/llvm/lane_ops.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "codegen/ir/fail.h"

namespace heddle::codegen {

using ir::Opcode;
using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

Value* null_of(const Value* value) {
  return llvm::Constant::getNullValue(value->getType());
}
Value* integer(const Value* like, uint64_t value) {
  return llvm::ConstantInt::get(like->getType(), value);
}

// The wrapping integer whose magnitude has no positive form.
Value* smallest(const Value* like) {
  const unsigned width = like->getType()->getScalarSizeInBits();
  return llvm::ConstantInt::get(like->getType(), llvm::APInt::getSignedMinValue(width));
}

// Division by zero and of the smallest integer by -1 trap in hardware: they are given the divisor 1.
struct Division {
  Value* by_zero;
  Value* divisor;
};
Division safe_divisor(llvm::IRBuilder<>& b, Value* x, Value* y) {
  Value* by_zero = b.CreateICmpEQ(y, null_of(y));
  Value* overflow = b.CreateAnd(b.CreateICmpEQ(x, smallest(x)),
                                b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType())));
  return {by_zero, b.CreateSelect(b.CreateOr(by_zero, overflow), integer(y, 1), y)};
}

// Nearest even integer where the processor has no instruction: adding and taking away 2^mantissa_bits rounds.
Value* rint_by_addition(llvm::IRBuilder<>& b, Value* x) {
  const bool wide = x->getType()->getScalarType()->isDoubleTy();
  llvm::Constant* limit = llvm::ConstantFP::get(x->getType(), wide ? 0x1p52 : 0x1p23);
  Value* large = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, limit, x);
  Value* rounded = b.CreateFSub(b.CreateFAdd(x, large), large);
  rounded = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, rounded, x);
  Value* fraction = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), limit);
  return b.CreateSelect(fraction, rounded, x);
}

Value* round_nearest(LaneBuilder& e, Value* x) {
  if (e.has.round) return e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x);
  return rint_by_addition(e.builder, x);
}

Value* round_down(LaneBuilder& e, Value* x) {
  auto& b = e.builder;
  if (e.has.round) return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
  Value* nearest = rint_by_addition(b, x);
  Value* less = b.CreateFSub(nearest, llvm::ConstantFP::get(x->getType(), 1));
  return b.CreateSelect(b.CreateFCmpOGT(nearest, x), less, nearest);
}

Value* float_op(LaneBuilder& e, Opcode code, const std::vector<Value*>& x) {
  auto& b = e.builder;
  switch (code) {
    case Opcode::add: return b.CreateFAdd(x[0], x[1]);
    case Opcode::sub: return b.CreateFSub(x[0], x[1]);
    case Opcode::mul: return b.CreateFMul(x[0], x[1]);
    case Opcode::div: return b.CreateFDiv(x[0], x[1]);
    case Opcode::max: return b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x[0], x[1]);
    case Opcode::min: return b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x[0], x[1]);
    case Opcode::neg: return b.CreateFNeg(x[0]);
    case Opcode::abs: return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x[0]);
    case Opcode::fma: return fused_multiply_add(e, x[0], x[1], x[2]);
    case Opcode::eq: return b.CreateFCmpOEQ(x[0], x[1]);
    case Opcode::ne: return b.CreateFCmpUNE(x[0], x[1]);
    case Opcode::lt: return b.CreateFCmpOLT(x[0], x[1]);
    case Opcode::le: return b.CreateFCmpOLE(x[0], x[1]);
    case Opcode::gt: return b.CreateFCmpOGT(x[0], x[1]);
    case Opcode::ge: return b.CreateFCmpOGE(x[0], x[1]);
    case Opcode::sqrt: return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x[0]);
    case Opcode::floor: return round_down(e, x[0]);
    case Opcode::rint: return round_nearest(e, x[0]);
    default:
      fail(ErrorKind::internal, {},
           "code generation was given the op {} on floats, which must be expanded before",
           ir::info(code).name);
  }
}

Value* integer_op(LaneBuilder& e, Opcode code, const std::vector<Value*>& x) {
  auto& b = e.builder;
  const unsigned width = x[0]->getType()->getScalarSizeInBits();
  switch (code) {
    case Opcode::add: return b.CreateAdd(x[0], x[1]);
    case Opcode::sub: return b.CreateSub(x[0], x[1]);
    case Opcode::mul: return b.CreateMul(x[0], x[1]);
    case Opcode::div: {
      const Division division = safe_divisor(b, x[0], x[1]);
      return b.CreateSelect(division.by_zero, llvm::Constant::getAllOnesValue(x[0]->getType()),
                            b.CreateSDiv(x[0], division.divisor));
    }
    case Opcode::rem: {
      const Division division = safe_divisor(b, x[0], x[1]);
      return b.CreateSelect(division.by_zero, x[0], b.CreateSRem(x[0], division.divisor));
    }
    case Opcode::max: return b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x[0], x[1]);
    case Opcode::min: return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x[0], x[1]);
    case Opcode::neg: return b.CreateNeg(x[0]);
    case Opcode::abs: return b.CreateSelect(b.CreateICmpSLT(x[0], null_of(x[0])), b.CreateNeg(x[0]), x[0]);
    case Opcode::bit_and: return b.CreateAnd(x[0], x[1]);
    case Opcode::bit_or: return b.CreateOr(x[0], x[1]);
    case Opcode::bit_xor: return b.CreateXor(x[0], x[1]);
    case Opcode::bit_not: return b.CreateNot(x[0]);
    case Opcode::shl: {
      Value* small = b.CreateICmpULT(x[1], integer(x[1], width));
      Value* shifted = b.CreateShl(x[0], b.CreateAnd(x[1], integer(x[1], width - 1)));
      return b.CreateSelect(small, shifted, null_of(x[0]));
    }
    case Opcode::shr:
      return b.CreateAShr(x[0],
                          b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x[1], integer(x[1], width - 1)));
    case Opcode::eq: return b.CreateICmpEQ(x[0], x[1]);
    case Opcode::ne: return b.CreateICmpNE(x[0], x[1]);
    case Opcode::lt: return b.CreateICmpSLT(x[0], x[1]);
    case Opcode::le: return b.CreateICmpSLE(x[0], x[1]);
    case Opcode::gt: return b.CreateICmpSGT(x[0], x[1]);
    case Opcode::ge: return b.CreateICmpSGE(x[0], x[1]);
    default:
      fail(ErrorKind::internal, {}, "code generation was given the op {} on integers, which has no meaning",
           ir::info(code).name);
  }
}

// x * y + z of f32 values as an f64: the product is exact, the sum is rounded to odd, so that rounding it
// once more, to f32 or narrower, is right. ir::multiply_add_to_odd() has the reasons.
Value* multiply_add_to_odd(llvm::IRBuilder<>& b, Value* x, Value* y, Value* z) {
  llvm::Type* wide = lanes_like(x, b.getDoubleTy());
  llvm::Type* bits_type = lanes_like(x, b.getInt64Ty());
  Value* product = b.CreateFMul(b.CreateFPExt(x, wide), b.CreateFPExt(y, wide));
  Value* addend = b.CreateFPExt(z, wide);
  Value* sum = b.CreateFAdd(product, addend);
  Value* part = b.CreateFSub(sum, product);
  Value* error = b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, part)), b.CreateFSub(addend, part));
  Value* bits = b.CreateBitCast(sum, bits_type);
  Value* zero = llvm::Constant::getNullValue(wide);
  Value* even = b.CreateICmpEQ(b.CreateAnd(bits, integer(bits, 1)), null_of(bits));
  // Ordered: an infinite sum has a NaN for its error and stays.
  Value* inexact = b.CreateAnd(even, b.CreateFCmpONE(error, zero));
  // Away from zero when error and sum have one sign, else towards it.
  Value* negative_error = b.CreateFCmpOLT(error, zero);
  Value* negative_sum = b.CreateICmpSLT(bits, null_of(bits));
  Value* toward_zero = b.CreateXor(negative_error, negative_sum);
  Value* step = b.CreateSelect(toward_zero, llvm::Constant::getAllOnesValue(bits_type), integer(bits, 1));
  Value* odd = b.CreateSelect(inexact, b.CreateAdd(bits, step), bits);
  return b.CreateBitCast(odd, wide);
}

// max and min of 16-bit floats, on their bits: below 0, larger magnitudes are lesser numbers. Widening to f32
// would not do: InstCombine narrows a maximum of widened halves again, and LLVM 19's code for that loses the
// NaN in max(0, NaN).
Value* narrow_extremum(llvm::IRBuilder<>& b, bool max, DType type, Value* x, Value* y) {
  const FloatFormat format = float_format(type);
  const uint64_t infinity = ((uint64_t(1) << format.exponent_bits) - 1) << format.mantissa_bits;
  // From sign and magnitude to two's complement; its own inverse.
  auto flip = [&](Value* bits) {
    return b.CreateXor(bits, b.CreateAnd(b.CreateAShr(bits, integer(bits, 15)), integer(bits, 0x7fff)));
  };
  auto is_nan = [&](Value* bits) {
    return b.CreateICmpUGT(b.CreateAnd(bits, integer(bits, 0x7fff)), integer(bits, infinity));
  };
  Value* result =
      flip(b.CreateBinaryIntrinsic(max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, flip(x), flip(y)));
  return b.CreateSelect(is_nan(x), x, b.CreateSelect(is_nan(y), y, result));
}

// f64 lane by lane through the function that program.cpp offers.
Value* fma_by_call(LaneBuilder& e, Value* x, Value* y, Value* z) {
  auto& b = e.builder;
  llvm::Type* f64 = b.getDoubleTy();
  const llvm::FunctionCallee function =
      e.module.getOrInsertFunction("fma", llvm::FunctionType::get(f64, {f64, f64, f64}, false));
  auto call = [&](Value* a, Value* m, Value* c) {
    llvm::CallInst* result = b.CreateCall(function, {a, m, c});
    result->setDoesNotAccessMemory();
    result->setDoesNotThrow();
    return result;
  };
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (!vector) return call(x, y, z);
  Value* result = llvm::PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result = b.CreateInsertElement(
        result,
        call(b.CreateExtractElement(x, i), b.CreateExtractElement(y, i), b.CreateExtractElement(z, i)), i);
  return result;
}

}  // namespace

LaneBuilder::LaneBuilder(llvm::Module& module, LaneInstructions has)
    : module(module), builder(module.getContext()), has(has) {}

llvm::Type* LaneBuilder::element_type(DType type) {
  switch (type) {
    case DType::i1: return builder.getInt1Ty();
    case DType::f32: return builder.getFloatTy();
    case DType::f64: return builder.getDoubleTy();
    default: return builder.getIntNTy(unsigned(bit_width(type)));
  }
}

llvm::Type* LaneBuilder::memory_type(DType type) {
  return type == DType::i1 ? builder.getInt8Ty() : element_type(type);
}

Value* fused_multiply_add(LaneBuilder& e, Value* a, Value* b, Value* c) {
  if (e.has.fma) return e.builder.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  if (a->getType()->getScalarType()->isDoubleTy()) return fma_by_call(e, a, b, c);
  return e.builder.CreateFPTrunc(multiply_add_to_odd(e.builder, a, b, c), a->getType());
}

Value* lane_op(LaneBuilder& e, Opcode code, DType type, const std::vector<Value*>& operands) {
  auto& b = e.builder;
  if (code == Opcode::select) return b.CreateSelect(operands[0], operands[1], operands[2]);
  if (!is_any_float(type)) return integer_op(e, code, operands);
  if (type == DType::f32 || type == DType::f64) return float_op(e, code, operands);
  // f16 and bf16. Their signs and order are bits; all else is computed in f32 and rounded, but fma, of which
  // f32 holds too little.
  if (code == Opcode::neg) return b.CreateXor(operands[0], integer(operands[0], 0x8000));
  if (code == Opcode::abs) return b.CreateAnd(operands[0], integer(operands[0], 0x7fff));
  if (code == Opcode::max || code == Opcode::min)
    return narrow_extremum(b, code == Opcode::max, type, operands[0], operands[1]);
  std::vector<Value*> wide;
  for (Value* operand : operands) wide.push_back(convert(e, operand, type, DType::f32));
  if (code == Opcode::fma)
    return convert(e, multiply_add_to_odd(b, wide[0], wide[1], wide[2]), DType::f64, type);
  Value* result = float_op(e, code, wide);
  return ir::info(code).boolean_result ? result : convert(e, result, DType::f32, type);
}

Value* trip_count(llvm::IRBuilder<>& b, Value* lower, Value* upper, Value* step) {
  Value* zero = b.getInt64(0);
  Value* one = b.getInt64(1);
  Value* upward = b.CreateICmpSGT(step, zero);
  Value* distance = b.CreateSelect(upward, b.CreateSub(upper, lower), b.CreateSub(lower, upper));
  Value* stride = b.CreateSelect(upward, step, b.CreateNeg(step));
  Value* runs = b.CreateSelect(upward, b.CreateICmpSLT(lower, upper), b.CreateICmpSGT(lower, upper));
  runs = b.CreateAnd(runs, b.CreateICmpNE(step, zero));
  Value* divisor = b.CreateSelect(runs, stride, one);
  Value* count = b.CreateAdd(b.CreateUDiv(b.CreateSub(distance, one), divisor), one);
  return b.CreateSelect(runs, count, zero);
}

Value* combine(LaneBuilder& e, ir::ReduceKind kind, DType type, Value* a, Value* b) {
  constexpr Opcode kOps[] = {Opcode::add, Opcode::mul, Opcode::max, Opcode::min};
  return lane_op(e, kOps[int(kind)], type, {a, b});
}

}  // namespace heddle::codegen
