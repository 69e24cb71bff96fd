// Shared memory: buffers, tiles into and out of them, and copies from global memory that pass no register.
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using ir::Layout;
using ir::Op;
using llvm::Value;

Value* slot_address(Emitter& e, const BufferLayout& memory, Value* slot) {
  auto& b = e.builder;
  Value* start = e.shared_at(e.i32(memory.offset));
  return b.CreateAdd(start, b.CreateMul(b.CreateTrunc(slot, b.getInt32Ty()), e.i32(memory.slot_bytes)));
}

// For every thread, in every turn.
bool SlotAddresses::are_apart(const SlotAddress& address, const SlotAddress& base, int64_t bytes) const {
  for (int64_t thread = 0; thread < int64_t(e_.function.warps) * 32; ++thread) {
    const int64_t there = address.of(thread), here = base.of(thread);
    for (const int64_t flips : turn_.possible)
      if ((there ^ flips) - (here ^ flips) != bytes) return false;
  }
  return true;
}

SlotAddresses::Place SlotAddresses::operator[](const SlotAddress& address) {
  auto& b = e_.builder;
  for (const Base& base : bases_) {
    const int64_t bytes = address.of(0) - base.address.of(0);
    if (are_apart(address, base.address, bytes)) return {base.value, bytes};
  }
  Value* in_slot = e_.thread_value(address);
  if (turn_.flips) in_slot = b.CreateXor(in_slot, turn_.flips);
  bases_.push_back({address, b.CreateAdd(slot_, in_slot)});
  return {bases_.back().value, 0};
}

void emit_store_shared(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const ir::Value* value = op->operands[0];
  const Layout& layout = e.layout(value);
  const BufferLayout memory(op->operands[1]);
  const TileAccess access = tile_access(memory, layout, AccessKind::store);
  SlotAddresses addresses(e, slot_address(e, memory, e.scalar(op->operands[2])));
  const Registers& values = e.tiles.at(value);
  // Lanes of padding hold nothing: zeros belong there, for the dots that read them.
  const ir::Type& tile = value->type;
  for (size_t i = 0; i < access.accesses.size(); ++i) {
    Registers group;
    for (size_t r = i * size_t(access.width); r < (i + 1) * size_t(access.width); ++r) {
      group.push_back(values[r]);
      for (int axis = 0; axis < tile.rank; ++axis) {
        const int64_t extent = tile.extents[size_t(axis)].value;
        if (layout.covered(axis) == extent) continue;
        ThreadSum coordinate = thread_coordinate(layout, axis);
        coordinate += layout.of_register(int64_t(r))[size_t(axis)];
        group.back() = b.CreateSelect(e.takes_part({{.value = coordinate, .limit = extent}}), group.back(),
                                      llvm::Constant::getNullValue(group.back()->getType()));
      }
    }
    const SharedAccess& one = access.accesses[i];
    store_packed(e, addresses[one.address], group, tile.element, e.takes_part(one.guards));
  }
}

void emit_load_shared(Emitter& e, const Op* op) {
  const ir::Value* result = op->results[0];
  const DType element = result->type.element;
  const BufferLayout memory(op->operands[0]);
  const TileAccess access = tile_access(memory, e.layout(result), AccessKind::load);
  SlotAddresses addresses(e, slot_address(e, memory, e.scalar(op->operands[1])));
  const Registers zeros(size_t(access.width), llvm::Constant::getNullValue(e.element_type(element)));
  Registers all;
  for (const SharedAccess& one : access.accesses) {
    const Registers loaded = load_packed(e, addresses[one.address], zeros, element, e.takes_part(one.guards));
    all.insert(all.end(), loaded.begin(), loaded.end());
  }
  e.bind(result, std::move(all));
}

// cp.async in pieces of 16 bytes; what lies outside the view or the tile becomes zero (PTX ISA, cp.async:
// src-size below cp-size).
void emit_copy_async(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const View& view = e.views.at(op->operands[0]);
  const ir::Value* buffer = op->operands[1];
  const BufferLayout memory(buffer);
  const int leading = op->operands[0]->type.rank - 2;
  const bool swapped = op->attribute(2) != 0;
  const int fast = memory.fast, slow = 1 - fast;
  const auto view_axis = [&](int axis) { return size_t(leading + (swapped ? 1 - axis : axis)); };
  const auto offset = [&](size_t axis) { return e.scalar(op->operands[3 + axis]); };
  const auto stride_bytes = [&](size_t axis) {
    return b.CreateMul(view.strides[axis], e.i64(memory.element_bytes));
  };

  Value* base = view.base;
  Value* present = b.getTrue();
  for (int axis = 0; axis < leading; ++axis) {
    base = b.CreateGEP(b.getInt8Ty(), base, b.CreateMul(offset(size_t(axis)), stride_bytes(size_t(axis))));
    present = b.CreateAnd(present, b.CreateICmpULT(offset(size_t(axis)), view.extents[size_t(axis)]));
  }
  // How far the data reach along each axis of the buffer, and where they begin.
  Value *low[2], *high[2];
  Value* whole = present;  // every lane is there: the common case, without a look at each
  for (const int axis : {0, 1}) {
    const size_t at = view_axis(axis);
    const int64_t tile_extent = op->attribute(axis);
    Value* zero = e.i64(0);
    Value* left = b.CreateSub(view.extents[at], offset(at));
    Value* limit = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, e.i64(tile_extent));
    high[axis] = b.CreateTrunc(b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, limit, zero), b.getInt32Ty());
    Value* below =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateNeg(offset(at)), e.i64(tile_extent));
    low[axis] = b.CreateTrunc(b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, below, zero), b.getInt32Ty());
    whole = b.CreateAnd(
        whole, b.CreateAnd(b.CreateICmpSGE(left, e.i64(tile_extent)), b.CreateICmpSGE(offset(at), zero)));
    if (buffer->type.extents[size_t(axis)].value != tile_extent) whole = b.getFalse();
    base = b.CreateGEP(b.getInt8Ty(), base, b.CreateMul(offset(at), stride_bytes(at)));
  }
  Value* slot = slot_address(e, memory, e.scalar(op->operands[2]));
  Value* row_bytes = stride_bytes(view_axis(slow));
  const int64_t piece = 16 / memory.element_bytes;
  const std::vector<CopyTurn> turns = copy_turns(memory, int64_t(e.function.warps) * 32);

  const auto copy = [&](const CopyTurn& turn, Value* from, const SlotAddresses::Place& to, Value* bytes) {
    std::vector<Value*> operands{to.base, b.CreatePtrToInt(from, b.getInt64Ty())};
    std::string constraints = "r,l",
                text = fmt::format("cp.async.cg.shared.global [$0+{}], [$1], 16", to.offset);
    if (bytes) {
      operands.push_back(bytes);
      constraints += ",r";
      text += ", $2";
    }
    if (Value* takes_part = e.takes_part(turn.to.guards)) {
      text = "@$" + std::to_string(operands.size()) + " " + text;
      operands.push_back(takes_part);
      constraints += ",b";
    }
    e.assembly(text + ";", constraints, b.getVoidTy(), operands, true);
  };
  const auto source = [&](const CopyTurn& turn) {
    Value *row = e.thread_value(turn.row), *column = e.thread_value(turn.column);
    Value* offset_in_tile =
        b.CreateAdd(b.CreateMul(b.CreateZExt(row, b.getInt64Ty()), row_bytes),
                    b.CreateZExt(b.CreateMul(column, e.i32(memory.element_bytes)), b.getInt64Ty()));
    // Else LLVM's strength reduction keeps a running address in registers for every piece of a loop's copies.
    return e.hidden(b.CreateGEP(b.getInt8Ty(), base, offset_in_tile));
  };
  // Where a turn is some rows on from the first, so is its address.
  Value* first = source(turns[0]);
  const auto from = [&](const CopyTurn& turn) {
    if (turn.row.terms != turns[0].row.terms) return source(turn);
    return b.CreateGEP(b.getInt8Ty(), first,
                       b.CreateMul(row_bytes, e.i64(turn.row.constant - turns[0].row.constant)));
  };

  llvm::BasicBlock *wholly = e.new_block("copy"), *partly = e.new_block("copy_part"),
                   *done = e.new_block("copied");
  b.CreateCondBr(whole, wholly, partly);
  b.SetInsertPoint(wholly);
  SlotAddresses in_whole(e, slot);
  for (const CopyTurn& turn : turns) copy(turn, from(turn), in_whole[turn.to.address], nullptr);
  b.CreateBr(done);

  b.SetInsertPoint(partly);
  SlotAddresses in_part(e, slot);
  for (const CopyTurn& turn : turns) {
    Value *row = e.thread_value(turn.row), *column = e.thread_value(turn.column);
    Value* inside =
        b.CreateAnd(present, b.CreateAnd(b.CreateICmpSGE(row, low[slow]), b.CreateICmpSLT(row, high[slow])));
    inside = b.CreateAnd(inside, b.CreateICmpSGE(column, low[fast]));
    Value* left =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(high[fast], column), e.i32(piece));
    left = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, e.i32(0));
    Value* bytes = b.CreateSelect(inside, b.CreateMul(left, e.i32(memory.element_bytes)), e.i32(0));
    // Where nothing is read, the address must still be one: the view's own.
    copy(turn, b.CreateSelect(b.CreateICmpEQ(bytes, e.i32(0)), view.base, from(turn)),
         in_part[turn.to.address], bytes);
  }
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace heddle::codegen::nvptx
