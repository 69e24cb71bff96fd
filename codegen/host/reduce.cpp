// reduce, by the tree that docs/language.md states: while more than one lane is left, h = the largest power
// of two below their number; lane i takes in lane i + h where there is one. Two ways to the same bits:
//   along the contiguous axis: vectors are halved in memory until one is left, then in the register;
//   along another axis: every lane of a vector is a reduction of its own.
#include <bit>

#include "codegen/host/control.h"
#include "codegen/host/evaluate.h"
#include "codegen/llvm/lane_ops.h"

namespace heddle::codegen::host {

using ir::Op;
using llvm::Value;

namespace {

struct Reduction {
  Emitter& e;
  const ir::Value* operand;
  ir::ReduceKind kind;
  int axis;
  int64_t extent;
  DType element;
  Tile result;
  ir::Type result_type;

  Value* combine(Value* a, Value* b) const { return codegen::combine(e, kind, element, a, b); }
};

// Vectors held in scratch memory, `width` lanes each.
struct Row {
  Emitter& e;
  DType element;
  int width;
  int64_t offset;

  llvm::Type* type() const { return e.lanes_type(e.memory_type(element), width); }
  int64_t vector_bytes() const { return int64_t(size_bytes(element)) * width; }
  Value* address(Value* number) const {
    return e.builder.CreateInBoundsGEP(e.builder.getInt8Ty(), e.scratch_at(offset),
                                       e.builder.CreateMul(number, e.index(vector_bytes())));
  }
  llvm::Align align() const {
    return llvm::Align(uint64_t(std::min<int64_t>(kScratchAlign, vector_bytes())));
  }
  Value* load(Value* number) const { return e.builder.CreateAlignedLoad(type(), address(number), align()); }
  void store(Value* number, Value* value) const {
    e.builder.CreateAlignedStore(value, address(number), align());
  }
};

// Halves `count` (a power of two) vectors to one, in memory: vector i takes in vector i + h.
Value* halve_in_memory(const Reduction& r, const Row& row, int64_t count) {
  Emitter& e = r.e;
  for (int64_t half = count / 2; half >= 1; half /= 2)
    e.loop(0, half, 1, [&](Index i) {
      e.here();
      Value* partner = e.builder.CreateAdd(i.value, e.index(half));
      row.store(i.value, r.combine(row.load(i.value), row.load(partner)));
    });
  e.here();
  return row.load(e.index(0));
}

// Halves a vector to one lane, in the register.
Value* halve_in_register(const Reduction& r, Value* value, int width) {
  auto& b = r.e.builder;
  for (int half = width / 2; half >= 1; half /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < half; ++i) low.push_back(i), high.push_back(i + half);
    value = r.combine(b.CreateShuffleVector(value, low), b.CreateShuffleVector(value, high));
  }
  return width == 1 ? value : b.CreateExtractElement(value, uint64_t(0));
}

// The lanes [i, i + width) of the operand, and of its partners `half` further on, of which `partners` exist.
Value* first_step(const Reduction& r, Lanes lanes, Index i, int64_t half, int64_t partners) {
  Emitter& e = r.e;
  const int width = lanes.width;
  lanes.index[size_t(r.axis)] = i;
  Value* value = evaluate(e, r.operand, lanes);
  if (partners <= 0) return value;
  Lanes far = lanes;
  e.at(i.level);
  far.index[size_t(r.axis)] = {e.builder.CreateAdd(i.value, e.index(half)), i.level};
  far.valid = int(std::min<int64_t>(width, partners));
  Value* partner = evaluate(e, r.operand, far);
  e.at(lanes.level());
  Value* combined = r.combine(value, partner);
  if (partners >= width) return combined;
  std::vector<llvm::Constant*> exists;
  for (int lane = 0; lane < width; ++lane) exists.push_back(e.builder.getInt1(lane < partners));
  return e.builder.CreateSelect(llvm::ConstantVector::get(exists), combined, value);
}

// One reduction along the lanes' own axis; `lanes` holds the other coordinates.
Value* reduce_along(const Reduction& r, Lanes lanes, int full_width, int64_t row_offset) {
  Emitter& e = r.e;
  if (r.extent == 1) return evaluate(e, r.operand, lanes);
  const int64_t half = int64_t(std::bit_ceil(uint64_t(r.extent))) / 2, partners = r.extent - half;
  const int width = int(std::min<int64_t>(full_width, half));
  lanes.axis = width == 1 ? -1 : r.axis;
  lanes.width = lanes.valid = width;
  if (half == width) {
    Value* value = first_step(r, lanes, {e.index(0), 0}, half, partners);
    e.here();
    return halve_in_register(r, value, width);
  }
  const Row row{e, r.element, width, row_offset};
  auto step = [&](int64_t begin, int64_t end, int64_t partners_left) {
    if (begin < end)
      e.loop(begin, end, width, [&](Index i) {
        Value* value = first_step(r, lanes, i, half, partners_left);
        e.here();
        row.store(e.builder.CreateUDiv(i.value, e.index(width)), value);
      });
  };
  const int64_t whole = partners / width * width;
  step(0, whole, width);
  const int64_t mixed_end = whole + (partners > whole ? width : 0);
  step(whole, mixed_end, partners - whole);
  step(mixed_end, half, 0);
  return halve_in_register(r, halve_in_memory(r, row, half / width), width);
}

// Reductions side by side: the lanes run along another axis than the one that is folded.
Value* reduce_across(const Reduction& r, const Lanes& lanes, int64_t row_offset) {
  Emitter& e = r.e;
  auto operand_at = [&](Index i) {
    Lanes at = lanes;
    at.index[size_t(r.axis)] = i;
    return evaluate(e, r.operand, at);
  };
  if (r.extent == 1) return operand_at({e.index(0), 0});
  const int64_t half = int64_t(std::bit_ceil(uint64_t(r.extent))) / 2, partners = r.extent - half;
  auto pair = [&](Index i) {
    Value* value = operand_at(i);
    e.at(i.level);
    const Index far{e.builder.CreateAdd(i.value, e.index(half)), i.level};
    Value* partner = operand_at(far);
    e.here();
    return r.combine(value, partner);
  };
  if (half == 1) return pair({e.index(0), 0});
  const Row row{e, r.element, lanes.width, row_offset};
  e.loop(0, partners, 1, [&](Index i) {
    Value* value = pair(i);
    row.store(i.value, value);
  });
  if (partners < half)
    e.loop(partners, half, 1, [&](Index i) {
      Value* value = operand_at(i);
      e.here();
      row.store(i.value, value);
    });
  return halve_in_memory(r, row, half);
}

}  // namespace

void emit_reduce(Emitter& e, const Op* op) {
  const ir::Value* operand = op->operands[0];
  const int axis = int(op->attribute(1));
  const Tile tile = claim(e, op->result());
  const Reduction r{e,
                    operand,
                    ir::ReduceKind(op->attribute(0)),
                    axis,
                    operand->type.extents[size_t(axis)].value,
                    operand->type.element,
                    tile,
                    op->result()->type};
  const bool small = is_any_float(r.element) && bit_width(r.element) <= 16;
  const int lane_bytes = std::max(e.plan.of(operand).lane_bytes, small ? 4 : 1);
  // Rows of vectors; no more bytes than half the extent takes, rounded to whole vectors.
  const int64_t row_bytes =
      r.extent * size_bytes(r.element) * std::max<int64_t>(1, e.cpu.vector_bytes / lane_bytes) +
      kScratchAlign;
  const int64_t row_offset = e.scratch.take(row_bytes);
  const int inner = inner_axis(operand->type);
  versioned(e, {operand}, nullptr, [&] {
    if (axis == inner) {
      // Loops over the other axes, one reduction in each turn.
      const int width = vector_width(e, lane_bytes, r.extent);
      for_each_lanes(e, r.result_type, -1, lane_bytes, [&](const Lanes& lanes) {
        Value* value = reduce_along(r, lanes, width, row_offset);
        store_tile(e, r.result, r.result_type, lanes, value);
      });
    } else {
      for_each_lanes(e, r.result_type, inner_axis(r.result_type), lane_bytes, [&](const Lanes& lanes) {
        store_tile(e, r.result, r.result_type, lanes, reduce_across(r, lanes, row_offset));
      });
    }
  });
  e.scratch.give(row_offset, row_bytes);
}

}  // namespace heddle::codegen::host
