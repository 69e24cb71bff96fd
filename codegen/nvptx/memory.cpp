// Global memory: loads and stores through views and pointers, as wide as is proved, with predicates where
// lanes may lie outside.
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "codegen/ir/fail.h"
#include "codegen/llvm/lane_ops.h"
#include "codegen/machine/analysis.h"
#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using ir::Layout;
using ir::Op;
using ir::Opcode;
using llvm::Value;

namespace {

// Registers of one PTX access: one of 8 or 16 bits, or one, two or four of 32.
struct Packing {
  llvm::Type* word;
  int words;
  char letter;       // of the inline constraint
  const char* type;  // "b32"
};

Packing packing(Emitter& e, int64_t bytes) {
  auto& b = e.builder;
  if (bytes == 1) return {b.getInt16Ty(), 1, 'h', "u8"};
  if (bytes == 2) return {b.getInt16Ty(), 1, 'h', "b16"};
  return {b.getInt32Ty(), int(bytes / 4), 'r', "b32"};
}

// Elements to words and back. Bytes that share 16 bits are shifted: LLVM takes vectors of two through local
// memory.
Registers pack(Emitter& e, const Registers& values, DType element, const Packing& packing) {
  auto& b = e.builder;
  llvm::Type* lane = b.getIntNTy(unsigned(size_bytes(element) * 8));
  Registers bits;
  for (Value* value : values)
    bits.push_back(element == DType::i1 ? b.CreateZExt(value, lane) : b.CreateBitCast(value, lane));
  if (size_bytes(element) == 1 && values.size() <= 2) {
    Value* word = b.CreateZExt(bits[0], packing.word);
    if (values.size() == 2) word = b.CreateOr(word, b.CreateShl(b.CreateZExt(bits[1], packing.word), 8));
    return {word};
  }
  Value* vector = llvm::PoisonValue::get(llvm::FixedVectorType::get(lane, unsigned(values.size())));
  for (size_t i = 0; i < values.size(); ++i) vector = b.CreateInsertElement(vector, bits[i], i);
  Value* words = b.CreateBitCast(vector, llvm::FixedVectorType::get(packing.word, unsigned(packing.words)));
  Registers result;
  for (int i = 0; i < packing.words; ++i) result.push_back(b.CreateExtractElement(words, uint64_t(i)));
  return result;
}

Registers unpack(Emitter& e, const Registers& words, DType element, size_t count) {
  auto& b = e.builder;
  llvm::Type* lane = b.getIntNTy(unsigned(size_bytes(element) * 8));
  Registers lanes;
  if (size_bytes(element) == 1 && count <= 2) {
    for (size_t i = 0; i < count; ++i) lanes.push_back(b.CreateTrunc(b.CreateLShr(words[0], 8 * i), lane));
  } else {
    Value* packed =
        llvm::PoisonValue::get(llvm::FixedVectorType::get(words[0]->getType(), unsigned(words.size())));
    for (size_t i = 0; i < words.size(); ++i) packed = b.CreateInsertElement(packed, words[i], i);
    Value* vector = b.CreateBitCast(packed, llvm::FixedVectorType::get(lane, unsigned(count)));
    for (size_t i = 0; i < count; ++i) lanes.push_back(b.CreateExtractElement(vector, i));
  }
  Registers result;
  for (Value* bits : lanes)
    result.push_back(element == DType::i1 ? b.CreateICmpNE(bits, llvm::ConstantInt::get(lane, 0))
                                          : b.CreateBitCast(bits, e.element_type(element)));
  return result;
}

std::string vector_suffix(int words) {
  return words == 1 ? std::string() : fmt::format(".v{}", words);
}

// Where an access goes: what PTX calls its space, the operand that holds the address, and what is added to
// it.
struct Target {
  const char* space;
  char letter;  // of the inline constraint
  Value* address;
  int64_t offset;
};

Target target(Emitter& e, Value* address) {
  return {"global", 'l', e.builder.CreatePtrToInt(address, e.builder.getInt64Ty()), 0};
}
Target target(Emitter&, const SlotAddresses::Place& place) {
  return {"shared", 'r', place.base, place.offset};
}

Registers load(Emitter& e, const Target& from, const Registers& otherwise, DType element, Value* predicate) {
  auto& b = e.builder;
  const Packing p = packing(e, int64_t(otherwise.size()) * size_bytes(element));
  const Registers fill = pack(e, otherwise, element, p);
  std::string constraints;
  for (int i = 0; i < p.words; ++i) constraints += fmt::format("={},", p.letter);
  constraints += from.letter;
  std::vector<Value*> operands{from.address};
  std::string guard;
  if (predicate) {
    constraints += ",b";
    operands.push_back(predicate);
    guard = fmt::format("@${} ", p.words + 1);
    for (int i = 0; i < p.words; ++i) {
      constraints += fmt::format(",{}", i);
      operands.push_back(fill[size_t(i)]);
    }
  }
  const std::string text =
      fmt::format("{}ld.{}{}.{} {}, [${}+{}];", guard, from.space, vector_suffix(p.words), p.type,
                  operand_list(0, p.words), p.words, from.offset);
  llvm::Type* result = p.word;
  if (p.words > 1)
    result = llvm::StructType::get(b.getContext(), std::vector<llvm::Type*>(size_t(p.words), p.word));
  Value* loaded = e.assembly(text, constraints, result, operands, true);
  Registers words;
  for (int i = 0; i < p.words; ++i)
    words.push_back(p.words == 1 ? loaded : b.CreateExtractValue(loaded, unsigned(i)));
  return unpack(e, words, element, otherwise.size());
}

void store(Emitter& e, const Target& to, const Registers& values, DType element, Value* predicate) {
  auto& b = e.builder;
  const Packing p = packing(e, int64_t(values.size()) * size_bytes(element));
  std::vector<Value*> operands{to.address};
  std::string constraints(1, to.letter);
  for (Value* word : pack(e, values, element, p)) {
    operands.push_back(word);
    constraints += fmt::format(",{}", p.letter);
  }
  std::string guard;
  if (predicate) {
    operands.push_back(predicate);
    constraints += ",b";
    guard = fmt::format("@${} ", p.words + 1);
  }
  const std::string text = fmt::format("{}st.{}{}.{} [$0+{}], {};", guard, to.space, vector_suffix(p.words),
                                       p.type, to.offset, operand_list(1, p.words));
  e.assembly(text, constraints, b.getVoidTy(), operands, true);
}

}  // namespace

Registers load_packed(Emitter& e, Value* address, const Registers& otherwise, DType element,
                      Value* predicate) {
  return load(e, target(e, address), otherwise, element, predicate);
}
Registers load_packed(Emitter& e, const SlotAddresses::Place& place, const Registers& otherwise,
                      DType element, Value* predicate) {
  return load(e, target(e, place), otherwise, element, predicate);
}
void store_packed(Emitter& e, Value* address, const Registers& values, DType element, Value* predicate) {
  store(e, target(e, address), values, element, predicate);
}
void store_packed(Emitter& e, const SlotAddresses::Place& place, const Registers& values, DType element,
                  Value* predicate) {
  store(e, target(e, place), values, element, predicate);
}

namespace {

// One access of a tile: addresses and predicates by register. `width` neighbouring registers move as one
// where `whole` says that no group is cut (null: none ever is).
struct Access {
  std::vector<Value*> address;  // ptr addrspace(1), of the first register of each group when groups are moved
  std::vector<Value*> predicate;  // i1; null = always
  int64_t width = 1;
  Value* whole = nullptr;
};

Value* both(Emitter& e, Value* a, Value* b) {
  if (!a || !b) return a ? a : b;
  return e.builder.CreateAnd(a, b);
}

// Where along one axis the lanes of a tile are inside the view.
struct AxisWindow {
  Value* first;  // i32: the thread's coordinate less the first one inside
  Value* span;   // i32: how many are inside
  std::unordered_map<int64_t, Value*> predicates;

  Value* inside(Emitter& e, int64_t register_coordinate) {
    Value*& known = predicates[register_coordinate];
    if (!known) known = e.builder.CreateICmpULT(e.builder.CreateAdd(first, e.i32(register_coordinate)), span);
    return known;
  }
};

Value* clamp_to(Emitter& e, Value* value, int64_t high) {
  auto& b = e.builder;
  Value* upper = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, e.i64(high));
  return b.CreateTrunc(b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, upper, e.i64(0)), b.getInt32Ty());
}

Access view_access(Emitter& e, const Op* op, const ir::Type& tile, const Layout& layout,
                   size_t first_offset) {
  auto& b = e.builder;
  const View& view = e.views.at(op->operands[0]);
  const int64_t size = size_bytes(tile.element);
  const int leading = op->operands[0]->type.rank - tile.rank;
  Access access;
  Value* base = view.base;
  Value* present = nullptr;
  const auto stride_bytes = [&](int axis) { return b.CreateMul(view.strides[size_t(axis)], e.i64(size)); };
  const auto advance = [&](Value* address, Value* bytes) {
    return b.CreateGEP(b.getInt8Ty(), address, bytes);
  };
  for (int axis = 0; axis < leading; ++axis) {
    Value* offset = e.scalar(op->operands[first_offset + size_t(axis)]);
    base = advance(base, b.CreateMul(offset, stride_bytes(axis)));
    present = both(e, present, b.CreateICmpULT(offset, view.extents[size_t(axis)]));
  }
  std::vector<AxisWindow> windows;
  std::vector<Value*> strides;
  Value* address = base;
  const WideAccess wide = wide_access(e.function, *op);
  access.width = tile.rank ? std::min(wide.elements, layout.vector(wide.axis)) : 1;
  for (int axis = 0; axis < tile.rank; ++axis) {
    Value* offset = e.scalar(op->operands[first_offset + size_t(leading + axis)]);
    Value* extent = view.extents[size_t(leading + axis)];
    strides.push_back(stride_bytes(leading + axis));
    address = advance(address, b.CreateMul(offset, strides.back()));
    Value* thread = e.thread_coordinate(layout, axis);
    const int64_t tile_extent = tile.extents[size_t(axis)].value;
    // In i64 the differences can't overflow where the extents are those of memory.
    Value* low = clamp_to(e, b.CreateNeg(offset), tile_extent);
    Value* high = clamp_to(e, b.CreateSub(extent, offset), tile_extent);
    Value* span = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b.CreateSub(high, low), e.i32(0));
    windows.push_back({.first = b.CreateSub(thread, low), .span = span, .predicates = {}});
    if (axis == wide.axis && access.width > 1)
      access.whole = b.CreateICmpEQ(b.CreateAnd(b.CreateOr(low, high), e.i32(access.width - 1)), e.i32(0));
  }
  for (int axis = 0; axis < tile.rank; ++axis)
    address = advance(address, b.CreateMul(b.CreateZExt(e.thread_coordinate(layout, axis), b.getInt64Ty()),
                                           strides[size_t(axis)]));
  for (int64_t r = 0; r < layout.register_count(); ++r) {
    const ir::Coordinates at = layout.of_register(r);
    Value* place = address;
    Value* predicate = present;
    for (int axis = 0; axis < tile.rank; ++axis) {
      if (at[size_t(axis)])
        place = advance(place, b.CreateMul(e.i64(at[size_t(axis)]), strides[size_t(axis)]));
      predicate = both(e, predicate, windows[size_t(axis)].inside(e, at[size_t(axis)]));
    }
    access.address.push_back(place);
    access.predicate.push_back(predicate);
  }
  return access;
}

// Lanes of a layout that are no padding; null where all are none.
Value* in_tile(Emitter& e, const Layout& layout, const ir::Type& tile, const ir::Coordinates& at) {
  auto& b = e.builder;
  Value* predicate = nullptr;
  for (int axis = 0; axis < tile.rank; ++axis) {
    if (layout.covered(axis) == tile.extents[size_t(axis)].value) continue;
    Value* coordinate = b.CreateAdd(e.thread_coordinate(layout, axis), e.i32(at[size_t(axis)]));
    predicate = both(e, predicate, b.CreateICmpULT(coordinate, e.i32(tile.extents[size_t(axis)].value)));
  }
  return predicate;
}

Access pointer_access(Emitter& e, const Op* op, const ir::Type& tile, const Layout& layout,
                      size_t mask_operand) {
  auto& b = e.builder;
  Access access;
  access.address = e.registers(op->operands[0]);
  Registers masks;
  if (op->operands.size() > mask_operand) masks = e.registers(op->operands[mask_operand]);
  for (size_t r = 0; r < access.address.size(); ++r) {
    Value* predicate = tile.rank ? in_tile(e, layout, tile, layout.of_register(int64_t(r))) : nullptr;
    if (!masks.empty()) predicate = both(e, predicate, masks[r]);
    access.predicate.push_back(predicate);
  }
  if (tile.rank == 0) return access;
  const WideAccess wide = wide_access(e.function, *op);
  access.width = std::min(wide.elements, layout.vector(wide.axis));
  if (access.width == 1) return access;
  for (size_t group = 0; group < access.predicate.size(); group += size_t(access.width)) {
    if (!access.predicate[group]) continue;
    Value *all = access.predicate[group], *any = all;
    for (int64_t i = 1; i < access.width; ++i) {
      all = b.CreateAnd(all, access.predicate[group + size_t(i)]);
      any = b.CreateOr(any, access.predicate[group + size_t(i)]);
    }
    access.whole = both(e, access.whole, b.CreateICmpEQ(all, any));
  }
  return access;
}

Access access_of(Emitter& e, const Op* op, const ir::Type& tile, const Layout& layout) {
  const bool is_load = op->code == Opcode::load || op->code == Opcode::load_view;
  if (op->code == Opcode::load || op->code == Opcode::store)
    return pointer_access(e, op, tile, layout, is_load ? 1 : 2);
  return view_access(e, op, tile, layout, is_load ? 1 : 2);
}

// A scalar as a tile of rank 0 that every thread holds.
Layout layout_of(Emitter& e, const ir::Value* value) {
  if (Emitter::is_tile(value)) return e.layout(value);
  Layout layout;
  layout.lanes.resize(Layout::kLaneBits);
  for (int warps = e.function.warps; warps > 1; warps /= 2) layout.warps.emplace_back();
  return layout;
}

// Runs `move(width)` in groups where they are whole, else one by one; both give the same number of registers.
Registers in_groups(Emitter& e, const Access& access, const std::function<Registers(int64_t)>& move) {
  auto& b = e.builder;
  if (access.width == 1 || !access.whole) return move(access.width);
  llvm::BasicBlock *wide = e.new_block("wide"), *narrow = e.new_block("narrow"), *join = e.new_block("moved");
  b.CreateCondBr(access.whole, wide, narrow);
  b.SetInsertPoint(wide);
  const Registers in_wide = move(access.width);
  llvm::BasicBlock* wide_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(narrow);
  const Registers in_narrow = move(1);
  llvm::BasicBlock* narrow_end = b.GetInsertBlock();
  b.CreateBr(join);
  b.SetInsertPoint(join);
  Registers result;
  for (size_t i = 0; i < in_wide.size(); ++i) {
    llvm::PHINode* phi = b.CreatePHI(in_wide[i]->getType(), 2);
    phi->addIncoming(in_wide[i], wide_end);
    phi->addIncoming(in_narrow[i], narrow_end);
    result.push_back(phi);
  }
  return result;
}

Registers fill_of(Emitter& e, const Op* op, const ir::Type& tile, size_t count) {
  const bool has_fill = op->code == Opcode::load ? op->operands.size() > 2 : op->attribute(0) != 0;
  if (!has_fill) return Registers(count, llvm::Constant::getNullValue(e.element_type(tile.element)));
  const Registers fill = e.registers(op->operands.back());
  return fill.size() == count ? fill : Registers(count, fill[0]);
}

}  // namespace

void emit_load(Emitter& e, const Op* op) {
  const ir::Value* result = op->results[0];
  const Layout layout = layout_of(e, result);
  const Access access = access_of(e, op, result->type, layout);
  const Registers fill = fill_of(e, op, result->type, access.address.size());
  e.bind(result, in_groups(e, access, [&](int64_t width) {
           Registers all;
           for (size_t r = 0; r < fill.size(); r += size_t(width)) {
             const Registers otherwise(fill.begin() + ptrdiff_t(r),
                                       fill.begin() + ptrdiff_t(r + size_t(width)));
             const Registers loaded =
                 load_packed(e, access.address[r], otherwise, result->type.element, access.predicate[r]);
             all.insert(all.end(), loaded.begin(), loaded.end());
           }
           return all;
         }));
}

void emit_store(Emitter& e, const Op* op) {
  const ir::Value* value = op->operands[1];
  const Layout layout = layout_of(e, value);
  Access access = access_of(e, op, value->type, layout);
  if (Value* owner = e.is_owner(layout))
    for (Value*& predicate : access.predicate) predicate = both(e, predicate, owner);
  const Registers values = e.registers(value);
  in_groups(e, access, [&](int64_t width) {
    for (size_t r = 0; r < values.size(); r += size_t(width)) {
      const Registers group(values.begin() + ptrdiff_t(r), values.begin() + ptrdiff_t(r + size_t(width)));
      store_packed(e, access.address[r], group, value->type.element, access.predicate[r]);
    }
    return Registers();
  });
}

}  // namespace heddle::codegen::nvptx
