// Shared memory: buffers, tiles into and out of them, and copies from global memory that pass no register.
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using ir::Layout;
using ir::Op;
using llvm::Value;

BufferLayout::BufferLayout(const ir::Value* buffer) {
  const Op& op = *buffer->definition;
  const ir::Type& type = buffer->type;
  offset = op.attribute(0), slots = op.attribute(1), pitch = op.attribute(2), fast = int(op.attribute(3));
  element_bytes = size_bytes(type.element);
  row_stride.resize(type.rank);
  int64_t stride = pitch;
  for (int axis = type.rank; axis-- > 0;) {
    if (axis == fast) continue;
    row_stride[size_t(axis)] = stride;
    stride *= type.extents[size_t(axis)].value;
  }
  row_stride[size_t(fast)] = element_bytes;
  slot_bytes = stride;
}

Value* BufferLayout::slot_start(Emitter& e, Value* slot) const {
  auto& b = e.builder;
  return b.CreateAdd(e.i32(offset), b.CreateMul(b.CreateTrunc(slot, b.getInt32Ty()), e.i32(slot_bytes)));
}

namespace {

// Registers of a tile as a buffer holds them: byte addresses, and which lanes the buffer has.
struct SharedAccess {
  std::vector<Value*> address;    // ptr addrspace(3)
  std::vector<Value*> predicate;  // null = the lane is in the buffer
  int64_t width = 1;
};

SharedAccess shared_access(Emitter& e, const ir::Value* buffer, Value* slot, const ir::Type& tile,
                           const Layout& layout) {
  auto& b = e.builder;
  const BufferLayout memory(buffer);
  SharedAccess access;
  Value* start = memory.slot_start(e, slot);
  for (int axis = 0; axis < tile.rank; ++axis)
    start = b.CreateAdd(
        start, b.CreateMul(e.thread_coordinate(layout, axis), e.i32(memory.row_stride[size_t(axis)])));
  access.width = std::min(layout.vector(memory.fast), 16 / memory.element_bytes);
  // A group of registers must be in the buffer as a whole.
  if (layout.covered(memory.fast) > buffer->type.extents[size_t(memory.fast)].value) access.width = 1;
  for (int64_t r = 0; r < layout.register_count(); ++r) {
    const ir::Coordinates at = layout.of_register(r);
    int64_t bytes = 0;
    Value* predicate = nullptr;
    for (int axis = 0; axis < tile.rank; ++axis) {
      bytes += at[size_t(axis)] * memory.row_stride[size_t(axis)];
      if (layout.covered(axis) <= buffer->type.extents[size_t(axis)].value) continue;
      Value* coordinate = b.CreateAdd(e.thread_coordinate(layout, axis), e.i32(at[size_t(axis)]));
      Value* inside = b.CreateICmpULT(coordinate, e.i32(buffer->type.extents[size_t(axis)].value));
      predicate = predicate ? b.CreateAnd(predicate, inside) : inside;
    }
    access.address.push_back(e.shared_at(b.CreateAdd(start, e.i32(bytes))));
    access.predicate.push_back(predicate);
  }
  return access;
}

}  // namespace

void emit_store_shared(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const ir::Value* value = op->operands[0];
  const Layout& layout = e.layout(value);
  const SharedAccess access =
      shared_access(e, op->operands[1], e.scalar(op->operands[2]), value->type, layout);
  Value* owner = e.is_owner(layout);
  const Registers& values = e.tiles.at(value);
  // Lanes of padding hold nothing: zeros belong there, for the dots that read them.
  const ir::Type& tile = value->type;
  for (size_t r = 0; r < values.size(); r += size_t(access.width)) {
    Registers group(values.begin() + ptrdiff_t(r), values.begin() + ptrdiff_t(r + size_t(access.width)));
    Value* predicate = access.predicate[r];
    if (owner) predicate = predicate ? b.CreateAnd(predicate, owner) : owner;
    for (size_t i = 0; i < group.size(); ++i)
      for (int axis = 0; axis < tile.rank; ++axis) {
        const int64_t extent = tile.extents[size_t(axis)].value;
        if (layout.covered(axis) == extent) continue;
        const int64_t at = layout.of_register(int64_t(r + i))[size_t(axis)];
        Value* inside =
            b.CreateICmpULT(b.CreateAdd(e.thread_coordinate(layout, axis), e.i32(at)), e.i32(extent));
        group[i] = b.CreateSelect(inside, group[i], llvm::Constant::getNullValue(group[i]->getType()));
      }
    store_packed(e, kShared, access.address[r], group, tile.element, predicate);
  }
}

void emit_load_shared(Emitter& e, const Op* op) {
  const ir::Value* result = op->results[0];
  const Layout& layout = e.layout(result);
  const SharedAccess access =
      shared_access(e, op->operands[0], e.scalar(op->operands[1]), result->type, layout);
  Registers all;
  Value* zero = llvm::Constant::getNullValue(e.element_type(result->type.element));
  for (size_t r = 0; r < access.address.size(); r += size_t(access.width)) {
    const Registers loaded = load_packed(e, kShared, access.address[r], Registers(size_t(access.width), zero),
                                         result->type.element, access.predicate[r]);
    all.insert(all.end(), loaded.begin(), loaded.end());
  }
  e.bind(result, std::move(all));
}

// cp.async in pieces of 16 bytes, dealt out to the threads; what lies outside the view or the tile becomes
// zero (PTX ISA, cp.async: src-size below cp-size).
void emit_copy_async(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const View& view = e.views.at(op->operands[0]);
  const ir::Value* buffer = op->operands[1];
  const BufferLayout memory(buffer);
  const int leading = op->operands[0]->type.rank - 2;
  const bool swapped = op->attribute(2) != 0;
  const int fast = memory.fast, slow = 1 - fast;
  const int64_t piece = 16 / memory.element_bytes;
  const int64_t pieces = (buffer->type.extents[size_t(fast)].value + piece - 1) / piece;
  const int64_t rows = buffer->type.extents[size_t(slow)].value;
  const int64_t threads = int64_t(e.function.warps) * 32;
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
  Value* start = memory.slot_start(e, e.scalar(op->operands[2]));
  Value* row_bytes = stride_bytes(view_axis(slow));
  const int64_t turns = (rows * pieces + threads - 1) / threads;
  // Where every turn goes on by whole rows, an address is the last one and a step.
  const bool steps = threads % pieces == 0;
  Value* first_row = b.CreateUDiv(e.thread, e.i32(pieces));
  Value* first_column = b.CreateMul(b.CreateURem(e.thread, e.i32(pieces)), e.i32(piece));
  Value* step = b.CreateMul(row_bytes, e.i64(threads / pieces));

  const auto target = [&](Value* row, Value* column) {
    Value* to = b.CreateAdd(start, b.CreateAdd(b.CreateMul(row, e.i32(memory.row_stride[size_t(slow)])),
                                               b.CreateMul(column, e.i32(memory.element_bytes))));
    return b.CreatePtrToInt(e.shared_at(to), b.getInt32Ty());
  };
  // To `to` + `offset`: what is known now goes into the instruction, not into a register.
  const auto copy = [&](int64_t turn, Value* from, Value* to, int64_t offset, Value* bytes) {
    std::vector<Value*> operands{to, b.CreatePtrToInt(from, b.getInt64Ty())};
    std::string constraints = "r,l",
                text = fmt::format("cp.async.cg.shared.global [$0+{}], [$1], 16", offset);
    if (bytes) {
      operands.push_back(bytes);
      constraints += ",r";
      text += ", $2";
    }
    if ((turn + 1) * threads > rows * pieces) {
      text = "@$" + std::to_string(operands.size()) + " " + text;
      operands.push_back(b.CreateICmpULT(b.CreateAdd(e.thread, e.i32(turn * threads)), e.i32(rows * pieces)));
      constraints += ",b";
    }
    e.assembly(text + ";", constraints, b.getVoidTy(), operands, true);
  };
  const auto place = [&](int64_t turn, Value*& row, Value*& column) {
    if (steps) {
      row = b.CreateAdd(first_row, e.i32(turn * (threads / pieces)));
      column = first_column;
      return;
    }
    Value* ordinal = b.CreateAdd(e.thread, e.i32(turn * threads));
    row = b.CreateUDiv(ordinal, e.i32(pieces));
    column = b.CreateMul(b.CreateURem(ordinal, e.i32(pieces)), e.i32(piece));
  };
  const auto source = [&](Value* row, Value* column) {
    Value* offset_in_tile =
        b.CreateAdd(b.CreateMul(b.CreateZExt(row, b.getInt64Ty()), row_bytes),
                    b.CreateZExt(b.CreateMul(column, e.i32(memory.element_bytes)), b.getInt64Ty()));
    return b.CreateGEP(b.getInt8Ty(), base, offset_in_tile);
  };

  llvm::BasicBlock *wholly = e.new_block("copy"), *partly = e.new_block("copy_part"),
                   *done = e.new_block("copied");
  b.CreateCondBr(whole, wholly, partly);
  b.SetInsertPoint(wholly);
  Value *from = nullptr, *to = nullptr;
  for (int64_t turn = 0; turn < turns; ++turn) {
    Value *row, *column;
    place(turn, row, column);
    if (!steps || !from) to = target(row, column);
    from = steps && from ? b.CreateGEP(b.getInt8Ty(), from, step) : source(row, column);
    const int64_t offset = steps ? turn * (threads / pieces) * memory.row_stride[size_t(slow)] : 0;
    copy(turn, from, to, offset, nullptr);
  }
  b.CreateBr(done);

  b.SetInsertPoint(partly);
  for (int64_t turn = 0; turn < turns; ++turn) {
    Value *row, *column;
    place(turn, row, column);
    Value* inside =
        b.CreateAnd(present, b.CreateAnd(b.CreateICmpSGE(row, low[slow]), b.CreateICmpSLT(row, high[slow])));
    inside = b.CreateAnd(inside, b.CreateICmpSGE(column, low[fast]));
    Value* left =
        b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateSub(high[fast], column), e.i32(piece));
    left = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, left, e.i32(0));
    Value* bytes = b.CreateSelect(inside, b.CreateMul(left, e.i32(memory.element_bytes)), e.i32(0));
    // Where nothing is read, the address must still be one: the view's own.
    copy(turn, b.CreateSelect(b.CreateICmpEQ(bytes, e.i32(0)), view.base, source(row, column)),
         target(row, column), 0, bytes);
  }
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

}  // namespace heddle::codegen::nvptx
