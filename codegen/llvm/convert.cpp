// Conversions between element types. No run-time library: where the processor has no instruction, the small
// floats are rounded by integer arithmetic.
#include <llvm/ADT/APFloat.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <limits>

#include "codegen/llvm/lane_ops.h"

namespace heddle::codegen {

using llvm::Value;

namespace {

// Builder shorthands for values of any number of lanes.
struct Lane {
  LaneBuilder& e;
  llvm::IRBuilder<>& b;
  explicit Lane(LaneBuilder& e) : e(e), b(e.builder) {}

  llvm::Constant* i(const Value* like, uint64_t value) {
    return llvm::ConstantInt::get(like->getType(), value);
  }
  Value* bits(Value* value, unsigned width) {
    return b.CreateBitCast(value, lanes_like(value, b.getIntNTy(width)));
  }
  Value* f32(Value* bits) { return b.CreateBitCast(bits, lanes_like(bits, b.getFloatTy())); }
  Value* widen(Value* value, unsigned width) {
    return b.CreateZExt(value, lanes_like(value, b.getIntNTy(width)));
  }
  Value* narrow(Value* value, unsigned width) {
    return b.CreateTrunc(value, lanes_like(value, b.getIntNTy(width)));
  }
};

bool is_small(DType type) {
  return is_any_float(type) && bit_width(type) <= 16;
}

// f16 and f8 as an f32 whose exponent is too small by a constant, then scaled: exact, subnormals included.
Value* decode_by_scaling(LaneBuilder& e, Value* value, FloatFormat format) {
  Lane lane(e);
  auto& b = e.builder;
  Value* bits = lane.widen(value, 32);
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const int shift = 23 - format.mantissa_bits;
  Value* magnitude = b.CreateAnd(bits, lane.i(bits, (1u << magnitude_bits) - 1));
  Value* sign = b.CreateShl(b.CreateLShr(bits, lane.i(bits, uint64_t(magnitude_bits))), lane.i(bits, 31));
  Value* small = lane.f32(b.CreateShl(magnitude, lane.i(bits, uint64_t(shift))));
  const float scale = std::bit_cast<float>(uint32_t(127 + 127 - format.bias()) << 23);
  Value* scaled = lane.bits(b.CreateFMul(small, llvm::ConstantFP::get(small->getType(), scale)), 32);
  // The largest exponent means infinity or NaN; in e4m3 a single pattern means NaN.
  const uint32_t all_ones = (1u << magnitude_bits) - 1;
  Value* special;
  Value* special_bits;
  if (format.has_infinity) {
    const uint32_t infinity = all_ones & ~((1u << format.mantissa_bits) - 1);
    special = b.CreateICmpUGE(magnitude, lane.i(bits, infinity));
    Value* payload = b.CreateShl(magnitude, lane.i(bits, uint64_t(shift)));
    Value* quiet = b.CreateSelect(b.CreateICmpUGT(magnitude, lane.i(bits, infinity)), lane.i(bits, 0x400000),
                                  lane.i(bits, 0));
    special_bits = b.CreateOr(b.CreateOr(payload, quiet), lane.i(bits, 0x7f800000));
  } else {
    special = b.CreateICmpEQ(magnitude, lane.i(bits, all_ones));
    special_bits = lane.i(bits, 0x7fc00000);
  }
  return lane.f32(b.CreateOr(b.CreateSelect(special, special_bits, scaled), sign));
}

// Keeps LLVM from moving f16 conversions through arithmetic: operations on f16 itself, which few processors
// have, are done lane by lane, and its vector maximum forgets NaN (LLVM 19).
Value* fenced(LaneBuilder& e, Value* value) {
  if (e.has.half_arithmetic) return value;
  return e.builder.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {value->getType()}, {value});
}

Value* decode(LaneBuilder& e, Value* value, DType type) {
  Lane lane(e);
  auto& b = e.builder;
  if (type == DType::bf16) {
    Value* bits = lane.widen(value, 32);
    return lane.f32(b.CreateShl(bits, lane.i(bits, 16)));
  }
  if (type == DType::f16 && e.has.half) {
    Value* half = b.CreateBitCast(value, lanes_like(value, b.getHalfTy()));
    return fenced(e, b.CreateFPExt(half, lanes_like(value, b.getFloatTy())));
  }
  return decode_by_scaling(e, value, float_format(type));
}

Value* encode_bf16(LaneBuilder& e, Value* value) {
  Lane lane(e);
  auto& b = e.builder;
  Value* bits = lane.bits(value, 32);
  Value* top = b.CreateLShr(bits, lane.i(bits, 16));
  Value* odd = b.CreateAnd(top, lane.i(bits, 1));
  Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, lane.i(bits, 0x7fff)), odd), lane.i(bits, 16));
  Value* nan = b.CreateOr(top, lane.i(bits, 0x40));
  return lane.narrow(b.CreateSelect(b.CreateFCmpUNO(value, value), nan, rounded), 16);
}

// Nearest-even in integers. Results below the format's normal range are rounded by an addition whose unit in
// the last place is the format's smallest number.
Value* encode_by_integers(LaneBuilder& e, Value* value, DType type) {
  Lane lane(e);
  auto& b = e.builder;
  const FloatFormat format = float_format(type);
  const int m = format.mantissa_bits, shift = 23 - m;
  Value* bits = lane.bits(value, 32);
  auto i = [&](uint64_t number) { return lane.i(bits, number); };
  Value* magnitude = b.CreateAnd(bits, i(0x7fffffff));
  Value* sign = b.CreateShl(b.CreateLShr(bits, i(31)), i(uint64_t(m + format.exponent_bits)));

  const uint32_t rebias = uint32_t(127 - format.bias()) << 23;
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, i(uint64_t(shift))), i(1));
  Value* sum = b.CreateAdd(b.CreateAdd(magnitude, i((1u << (shift - 1)) - 1)), odd);
  Value* normal = b.CreateLShr(b.CreateSub(sum, i(rebias)), i(uint64_t(shift)));

  const uint32_t magic_bits = uint32_t(127 + 1 - format.bias() - m + 23) << 23;
  Value* magic = llvm::ConstantFP::get(value->getType(), std::bit_cast<float>(magic_bits));
  Value* subnormal = b.CreateSub(lane.bits(b.CreateFAdd(lane.f32(magnitude), magic), 32), i(magic_bits));

  const uint32_t smallest_normal = uint32_t(127 + 1 - format.bias()) << 23;
  Value* result = b.CreateSelect(b.CreateICmpULT(magnitude, i(smallest_normal)), subnormal, normal);
  const uint32_t infinity = ((1u << format.exponent_bits) - 1) << m;
  const uint32_t nan = format.has_infinity ? infinity | 1u << (m - 1) : infinity | ((1u << m) - 1);
  const uint32_t overflow = format.has_infinity ? infinity : nan;
  result = b.CreateSelect(b.CreateICmpUGT(result, i(overflow)), i(overflow), result);
  result = b.CreateSelect(b.CreateICmpUGT(magnitude, i(0x7f800000)), i(nan), result);
  return lane.narrow(b.CreateOr(result, sign), unsigned(bit_width(type)));
}

Value* encode(LaneBuilder& e, Value* value, DType type) {
  auto& b = e.builder;
  if (type == DType::bf16 && e.has.bf16) {
    Value* rounded = b.CreateIntrinsic(llvm::Intrinsic::nvvm_f2bf16_rn, {}, {value});
    return b.CreateBitCast(rounded, b.getInt16Ty());
  }
  if (type == DType::bf16) return encode_bf16(e, value);
  if (type == DType::f16 && e.has.half) {
    Value* half = b.CreateFPTrunc(fenced(e, value), lanes_like(value, b.getHalfTy()));
    return b.CreateBitCast(half, lanes_like(value, b.getInt16Ty()));
  }
  return encode_by_integers(e, value, type);
}

// f64 to f32 rounding to odd: inexact results get a last bit of 1. Rounding that again to a format of at most
// 22 bits gives what one rounding from f64 would (Boldo and Melquiond, "When double rounding is odd").
Value* to_f32_odd(LaneBuilder& e, Value* value) {
  Lane lane(e);
  auto& b = e.builder;
  Value* nearest = b.CreateFPTrunc(value, lanes_like(value, b.getFloatTy()));
  Value* back = b.CreateFPExt(nearest, value->getType());
  Value* bits = lane.bits(nearest, 32);
  Value* absolute = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  Value* absolute_back = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back);
  Value* even = b.CreateICmpEQ(b.CreateAnd(bits, lane.i(bits, 1)), lane.i(bits, 0));
  Value* above = b.CreateAnd(even, b.CreateFCmpOGT(absolute_back, absolute));
  Value* below = b.CreateAnd(even, b.CreateFCmpOLT(absolute_back, absolute));
  Value* up = b.CreateAdd(bits, b.CreateZExt(below, bits->getType()));
  return lane.f32(b.CreateSub(up, b.CreateZExt(above, bits->getType())));
}

// An i64 as an f64 that rounds to any narrow float as the integer would: bits that f64 can't hold are folded
// into a sticky one, far below the narrow format's last place.
Value* to_f64_sticky(LaneBuilder& e, Value* value) {
  Lane lane(e);
  auto& b = e.builder;
  Value* low = b.CreateAnd(value, lane.i(value, 0x7ff));
  Value* sticky =
      b.CreateSelect(b.CreateICmpEQ(low, lane.i(value, 0)), lane.i(value, 0), lane.i(value, 0x400));
  Value* folded = b.CreateOr(b.CreateXor(value, low), sticky);
  Value* fits =
      b.CreateICmpULT(b.CreateAdd(value, lane.i(value, uint64_t(1) << 52)), lane.i(value, uint64_t(1) << 53));
  return b.CreateSIToFP(b.CreateSelect(fits, value, folded), lanes_like(value, b.getDoubleTy()));
}

// A saturating conversion to integers of `bits` (at most 64) bits; NaN gives 0.
Value* to_integer(LaneBuilder& e, Value* value, unsigned bits) {
  auto& b = e.builder;
  return b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat,
                           {lanes_like(value, b.getIntNTy(bits)), value->getType()}, {value});
}

Value* integer_to_float(LaneBuilder& e, Value* value, DType from, DType to) {
  auto& b = e.builder;
  if (!is_small(to)) return b.CreateSIToFP(value, lanes_like(value, e.element_type(to)));
  if (from == DType::i8) return encode(e, b.CreateSIToFP(value, lanes_like(value, b.getFloatTy())), to);
  Value* wide = from == DType::i64 ? to_f64_sticky(e, value)
                                   : b.CreateSIToFP(value, lanes_like(value, b.getDoubleTy()));
  return encode(e, to_f32_odd(e, wide), to);
}

}  // namespace

llvm::Type* lanes_like(const Value* value, llvm::Type* element) {
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(value->getType()))
    return llvm::VectorType::get(element, vector->getElementCount());
  return element;
}

Value* convert(LaneBuilder& e, Value* value, DType from, DType to) {
  if (from == to) return value;
  auto& b = e.builder;
  if (from == DType::i1) {
    if (!is_any_float(to)) return b.CreateZExt(value, lanes_like(value, e.element_type(to)));
    llvm::Type* type = lanes_like(value, e.element_type(to));
    auto literal = [&](double number) -> llvm::Constant* {
      llvm::Constant* one = lane_constant(e, to, std::bit_cast<int64_t>(number));
      if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type))
        return llvm::ConstantVector::getSplat(vector->getElementCount(), one);
      return one;
    };
    return b.CreateSelect(value, literal(1), literal(0));
  }
  if (to == DType::i1) {
    if (is_any_float(from)) {
      Value* number = is_small(from) ? decode(e, value, from) : value;
      return b.CreateFCmpUNE(number, llvm::Constant::getNullValue(number->getType()));
    }
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  }
  if (is_integer(from)) {
    if (is_integer(to)) return b.CreateSExtOrTrunc(value, lanes_like(value, e.element_type(to)));
    return integer_to_float(e, value, from, to);
  }
  if (is_integer(to))
    return to_integer(e, is_small(from) ? decode(e, value, from) : value, unsigned(bit_width(to)));
  // Float to float.
  Value* number = is_small(from) ? decode(e, value, from) : value;
  const bool wide = from == DType::f64;
  if (to == DType::f64) return b.CreateFPExt(number, lanes_like(value, b.getDoubleTy()));
  if (to == DType::f32) return wide ? b.CreateFPTrunc(number, lanes_like(value, b.getFloatTy())) : number;
  return encode(e, wide ? to_f32_odd(e, number) : number, to);
}

llvm::Constant* lane_constant(LaneBuilder& e, DType type, int64_t payload) {
  if (!is_any_float(type)) return llvm::ConstantInt::getSigned(e.element_type(type), payload);
  if (type == DType::f64) return llvm::ConstantFP::get(e.builder.getDoubleTy(), ir::float_payload(payload));
  llvm::APFloat number(ir::float_payload(payload));
  auto semantics = [&]() -> const llvm::fltSemantics& {
    switch (type) {
      case DType::f16: return llvm::APFloat::IEEEhalf();
      case DType::bf16: return llvm::APFloat::BFloat();
      case DType::f8e5m2: return llvm::APFloat::Float8E5M2();
      case DType::f8e4m3: return llvm::APFloat::Float8E4M3FN();
      default: return llvm::APFloat::IEEEsingle();
    }
  };
  bool inexact;
  number.convert(semantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
  if (type == DType::f32) return llvm::ConstantFP::get(e.module.getContext(), number);
  return llvm::ConstantInt::get(e.module.getContext(), number.bitcastToAPInt());
}

}  // namespace heddle::codegen
