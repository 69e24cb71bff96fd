#include "codegen/host/memory.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "codegen/llvm/lane_ops.h"

namespace heddle::codegen::host {

using llvm::Value;

namespace {

bool is_constant(const Value* value, int64_t number) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant && constant->getSExtValue() == number;
}

Value* advance(Emitter& e, Value* base, Value* bytes) {
  return is_constant(bytes, 0) ? base : e.builder.CreateGEP(e.builder.getInt8Ty(), base, bytes);
}

Value* lane_address(Emitter& e, const Access& access, int lane, int width) {
  Value* address = advance(e, access.base, e.builder.CreateMul(access.step, e.index(lane)));
  if (!access.offsets) return address;
  return advance(
      e, address,
      width == 1 ? access.offsets : e.builder.CreateExtractElement(access.offsets, uint64_t(lane)));
}

// Between registers and memory only i1 differs: a byte, of which any value but 0 reads as true.
Value* from_memory(Emitter& e, DType element, Value* value) {
  if (element != DType::i1) return value;
  return e.builder.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}
Value* to_memory(Emitter& e, DType element, Value* value) {
  if (element != DType::i1) return value;
  return e.builder.CreateZExt(value, lanes_like(value, e.builder.getInt8Ty()));
}

bool contiguous(const Access& access, DType element) {
  return !access.offsets && is_constant(access.step, size_bytes(element));
}

// Nothing is known about the alignment of the user's memory.
const llvm::Align kByte = llvm::Align(1);

Value* load_all(Emitter& e, DType element, const Access& access, const Lanes& lanes) {
  auto& b = e.builder;
  llvm::Type* type = e.memory_type(element);
  const int width = lanes.width;
  Value* value;
  if (width == 1) {
    value = b.CreateAlignedLoad(type, lane_address(e, access, 0, 1), kByte);
  } else if (contiguous(access, element) && lanes.valid == width) {
    value = b.CreateAlignedLoad(e.lanes_type(type, width), access.base, kByte);
  } else if (!access.offsets && is_constant(access.step, 0)) {
    value = e.splat(b.CreateAlignedLoad(type, access.base, kByte), width);
  } else {
    value = llvm::Constant::getNullValue(e.lanes_type(type, width));
    for (int i = 0; i < lanes.valid; ++i)
      value = b.CreateInsertElement(
          value, b.CreateAlignedLoad(type, lane_address(e, access, i, width), kByte), uint64_t(i));
  }
  return from_memory(e, element, value);
}

void store_all(Emitter& e, DType element, const Access& access, const Lanes& lanes, Value* value) {
  auto& b = e.builder;
  value = to_memory(e, element, value);
  if (lanes.width == 1)
    b.CreateAlignedStore(value, lane_address(e, access, 0, 1), kByte);
  else if (contiguous(access, element) && lanes.valid == lanes.width)
    b.CreateAlignedStore(value, access.base, kByte);
  else
    for (int i = 0; i < lanes.valid; ++i)
      b.CreateAlignedStore(b.CreateExtractElement(value, uint64_t(i)),
                           lane_address(e, access, i, lanes.width), kByte);
}

// A loop over the set bits of a mask, in the current block: body(lane number). For lanes at an edge, where
// few are wanted and speed matters little.
void for_each_set_lane(Emitter& e, Value* mask, const std::function<void(Value*)>& body) {
  auto& b = e.builder;
  const unsigned width = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  Value* all = b.CreateZExt(b.CreateBitCast(mask, b.getIntNTy(width)), b.getInt64Ty());
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* block = e.new_block("lane");
  llvm::BasicBlock* exit = e.new_block("lanes_done");
  b.CreateCondBr(b.CreateICmpNE(all, e.index(0)), block, exit);
  b.SetInsertPoint(block);
  llvm::PHINode* bits = b.CreatePHI(b.getInt64Ty(), 2);
  body(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b.getTrue()));
  Value* rest = b.CreateAnd(bits, b.CreateSub(bits, e.index(1)));
  bits->addIncoming(all, before);
  bits->addIncoming(rest, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpNE(rest, e.index(0)), block, exit);
  b.SetInsertPoint(exit);
}

// Lane `lane`, counted at run time, of an access whose offsets were put into scratch memory.
Value* counted_address(Emitter& e, const Access& access, Value* lane) {
  auto& b = e.builder;
  Value* address = b.CreateGEP(b.getInt8Ty(), access.base, b.CreateMul(lane, access.step));
  if (!access.offsets) return address;
  Value* offset = b.CreateLoad(b.getInt64Ty(), b.CreateGEP(b.getInt64Ty(), e.scratch_at(kOffsetsSlot), lane));
  return b.CreateGEP(b.getInt8Ty(), address, offset);
}

void put_offsets(Emitter& e, const Access& access) {
  if (access.offsets)
    e.builder.CreateAlignedStore(access.offsets, e.scratch_at(kOffsetsSlot), llvm::Align(64));
}

Value* load_some(Emitter& e, DType element, const Access& access, Value* mask, Value* fill) {
  auto& b = e.builder;
  Value* slot = e.scratch_at(kLanesSlot);
  Value* initial = to_memory(e, element, fill);
  b.CreateAlignedStore(initial, slot, llvm::Align(64));
  put_offsets(e, access);
  llvm::Type* type = e.memory_type(element);
  for_each_set_lane(e, mask, [&](Value* lane) {
    Value* value = b.CreateAlignedLoad(type, counted_address(e, access, lane), kByte);
    b.CreateStore(value, b.CreateGEP(type, slot, lane));
  });
  return from_memory(e, element, b.CreateAlignedLoad(initial->getType(), slot, llvm::Align(64)));
}

void store_some(Emitter& e, DType element, const Access& access, Value* mask, Value* value) {
  auto& b = e.builder;
  Value* slot = e.scratch_at(kLanesSlot);
  b.CreateAlignedStore(to_memory(e, element, value), slot, llvm::Align(64));
  put_offsets(e, access);
  llvm::Type* type = e.memory_type(element);
  for_each_set_lane(e, mask, [&](Value* lane) {
    Value* one = b.CreateLoad(type, b.CreateGEP(type, slot, lane));
    b.CreateAlignedStore(one, counted_address(e, access, lane), kByte);
  });
}

// i1s of the lanes that exist.
llvm::Constant* valid_lanes(Emitter& e, const Lanes& lanes) {
  std::vector<llvm::Constant*> bits;
  for (int i = 0; i < lanes.width; ++i) bits.push_back(e.builder.getInt1(i < lanes.valid));
  return llvm::ConstantVector::get(bits);
}

// Branches on guard.all; `common` and `rare` build the two sides and `rare` may be absent.
void branch(Emitter& e, int level, Value* all, const std::function<void()>& common,
            const std::function<void()>& rare) {
  auto& b = e.at(level);
  llvm::BasicBlock* yes = e.new_block("all_lanes");
  llvm::BasicBlock* no = rare ? e.new_block("some_lanes") : nullptr;
  llvm::BasicBlock* join = e.new_block("joined");
  b.CreateCondBr(all, yes, no ? no : join);
  b.SetInsertPoint(yes);
  common();
  b.CreateBr(join);
  if (no) {
    b.SetInsertPoint(no);
    rare();
    b.CreateBr(join);
  }
  b.SetInsertPoint(join);
  e.moved(level);
}

}  // namespace

Value* load_lanes(Emitter& e, int level, DType element, const Access& access, const Lanes& lanes,
                  const Guard& guard, Value* fill) {
  auto& b = e.at(level);
  if (!guard.all) return load_all(e, element, access, lanes);
  if (!fill) fill = llvm::Constant::getNullValue(e.lanes_type(e.element_type(element), lanes.width));
  Value *loaded = nullptr, *rest = nullptr;
  llvm::BasicBlock *loaded_block = nullptr, *rest_block = nullptr;
  branch(
      e, level, guard.all,
      [&] {
        loaded = load_all(e, element, access, lanes);
        loaded_block = b.GetInsertBlock();
      },
      [&] {
        rest = lanes.width == 1 ? fill : load_some(e, element, access, guard.mask(), fill);
        rest_block = b.GetInsertBlock();
      });
  llvm::PHINode* result = b.CreatePHI(loaded->getType(), 2);
  result->addIncoming(loaded, loaded_block);
  result->addIncoming(rest, rest_block);
  return result;
}

void store_lanes(Emitter& e, int level, DType element, const Access& access, const Lanes& lanes,
                 const Guard& guard, Value* value) {
  e.at(level);
  if (!guard.all) return store_all(e, element, access, lanes, value);
  std::function<void()> rare;
  if (lanes.width > 1) rare = [&] { store_some(e, element, access, guard.mask(), value); };
  branch(e, level, guard.all, [&] { store_all(e, element, access, lanes, value); }, rare);
}

// Scratch tiles.

namespace {

// As data of the type that scratch holds: addresses as i64.
DType tile_element(const ir::Type& type) {
  return type.kind == ir::Type::Kind::pointer ? DType::i64 : type.element;
}

struct TileAddress {
  Value* base;
  bool whole;  // a whole vector may be read and written
  int64_t step;
  llvm::Align align;
};

TileAddress tile_address(Emitter& e, const Tile& tile, const Lanes& lanes) {
  Value* offset = e.index(tile.offset);
  auto& b = e.at(lanes.level());
  for (int axis = 0; axis < lanes.rank; ++axis)
    if (tile.pitch[axis])
      offset = b.CreateAdd(
          offset, b.CreateMul(lanes.index[axis].value, e.index(tile.pitch[axis] * tile.element_bytes)));
  Value* base = b.CreateInBoundsGEP(b.getInt8Ty(), e.scratch_base, offset);
  const int64_t step = lanes.axis < 0 ? 0 : tile.pitch[lanes.axis] * tile.element_bytes;
  const bool whole = lanes.width > 1 && step == tile.element_bytes;
  const int64_t bytes = std::min<int64_t>(kScratchAlign, tile.element_bytes * (whole ? lanes.width : 1));
  return {base, whole, step, llvm::Align(uint64_t(bytes))};
}

}  // namespace

Value* load_tile(Emitter& e, const Tile& tile, const ir::Type& type, const Lanes& lanes) {
  const DType element = tile_element(type);
  const TileAddress address = tile_address(e, tile, lanes);
  auto& b = e.at(lanes.level());
  if (address.whole || lanes.width == 1) {
    llvm::Type* held = e.lanes_type(e.memory_type(element), lanes.width);
    return from_memory(e, element, b.CreateAlignedLoad(held, address.base, address.align));
  }
  return load_all(e, element, {.base = address.base, .step = e.index(address.step)}, lanes);
}

void store_tile(Emitter& e, const Tile& tile, const ir::Type& type, const Lanes& lanes, Value* value) {
  const DType element = tile_element(type);
  const TileAddress address = tile_address(e, tile, lanes);
  auto& b = e.at(lanes.level());
  if (address.whole || lanes.width == 1)
    b.CreateAlignedStore(to_memory(e, element, value), address.base, address.align);
  else
    store_all(e, element, {.base = address.base, .step = e.index(address.step)}, lanes, value);
}

// Views.

Window make_window(Emitter& e, const ir::Op* op) {
  auto& b = e.at(0);
  const bool store = op->code == ir::Opcode::store_view;
  const View& view = e.views.at(op->operands[0]);
  const ir::Type& type = store ? op->operands[1]->type : op->result()->type;
  const int view_rank = op->operands[0]->type.rank, skipped = view_rank - type.rank;
  const int64_t bytes = size_bytes(type.element);
  Window window;
  window.inside = b.getTrue();
  Value* offset = e.index(0);
  for (int i = 0; i < view_rank; ++i) {
    Value* start = e.scalar(op->operands[size_t(i + (store ? 2 : 1))]);
    Value* step = b.CreateMul(view.strides[size_t(i)], e.index(bytes));
    offset = b.CreateAdd(offset, b.CreateMul(start, step));
    auto clamp = [&](Value* bound, int64_t extent) {
      Value* distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, bound, start);
      distance = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, distance, e.index(0));
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, distance, e.index(extent));
    };
    const int axis = i - skipped;
    const int64_t extent = axis < 0 ? 1 : type.extents[axis].value;
    Value* low = clamp(e.index(0), extent);
    Value* high = clamp(view.extents[size_t(i)], extent);
    Value* inside = b.CreateAnd(b.CreateICmpEQ(low, e.index(0)), b.CreateICmpEQ(high, e.index(extent)));
    window.inside = b.CreateAnd(window.inside, inside);
    if (axis < 0) continue;
    window.low[axis] = low;
    window.high[axis] = high;
    window.step[axis] = step;
    window.extents[axis] = extent;
  }
  // A leading coordinate outside the view leaves nothing of the tile.
  if (skipped > 0) {
    Value* rows = b.getTrue();
    for (int i = 0; i < skipped; ++i) {
      Value* start = e.scalar(op->operands[size_t(i + (store ? 2 : 1))]);
      Value* inside =
          b.CreateAnd(b.CreateICmpSGE(start, e.index(0)), b.CreateICmpSLT(start, view.extents[size_t(i)]));
      rows = b.CreateAnd(rows, inside);
    }
    window.present = rows;
  }
  window.base = b.CreateGEP(b.getInt8Ty(), view.base, offset);
  return window;
}

Access window_access(Emitter& e, const Window& window, const Lanes& lanes) {
  // Outer coordinates first, each at its own level, so that inner loops add one term.
  std::array<int, ir::kMaxRank> order;
  for (int i = 0; i < lanes.rank; ++i) order[size_t(i)] = i;
  std::stable_sort(order.begin(), order.begin() + lanes.rank,
                   [&](int a, int b) { return lanes.index[a].level < lanes.index[b].level; });
  Value* address = window.base;
  for (int i = 0; i < lanes.rank; ++i) {
    const int axis = order[size_t(i)];
    e.at(lanes.index[axis].level);
    address = advance(e, address, e.builder.CreateMul(lanes.index[axis].value, window.step[axis]));
  }
  return {.base = address, .step = lanes.axis < 0 ? e.index(0) : window.step[lanes.axis]};
}

Guard window_guard(Emitter& e, const Window& window, const Lanes& lanes) {
  if (e.all_inside) return {};
  Value* rows = window.present ? window.present : e.builder.getTrue();
  std::array<int, ir::kMaxRank> order;
  for (int i = 0; i < lanes.rank; ++i) order[size_t(i)] = i;
  std::stable_sort(order.begin(), order.begin() + lanes.rank,
                   [&](int a, int b) { return lanes.index[a].level < lanes.index[b].level; });
  for (int i = 0; i < lanes.rank; ++i) {
    const int axis = order[size_t(i)];
    if (axis == lanes.axis) continue;
    auto& b = e.at(lanes.index[axis].level);
    Value* distance = b.CreateSub(lanes.index[axis].value, window.low[axis]);
    rows = b.CreateAnd(rows, b.CreateICmpULT(distance, b.CreateSub(window.high[axis], window.low[axis])));
  }
  if (lanes.axis < 0) return {.all = rows, .mask = {}};
  auto& b = e.at(lanes.level());
  Value *first = lanes.index[lanes.axis].value, *low = window.low[lanes.axis],
        *high = window.high[lanes.axis];
  Value* within = b.CreateAnd(b.CreateICmpSGE(first, low),
                              b.CreateICmpSLE(b.CreateAdd(first, e.index(lanes.valid)), high));
  return {.all = b.CreateAnd(rows, within), .mask = [&e, lanes, rows, first, low, high] {
            auto& b = e.builder;
            const int width = lanes.width;
            Value* lane = b.CreateAdd(e.splat(first, width), e.lane_numbers(width));
            Value* mask = b.CreateAnd(b.CreateICmpSGE(lane, e.splat(low, width)),
                                      b.CreateICmpSLT(lane, e.splat(high, width)));
            mask = b.CreateAnd(mask, e.splat(rows, width));
            return b.CreateAnd(mask, valid_lanes(e, lanes));
          }};
}

Guard mask_guard(Emitter& e, Value* mask, const Lanes& lanes) {
  if (!mask) return {};
  if (lanes.width == 1) return {.all = mask, .mask = {}};
  auto& b = e.at(lanes.level());
  Value* wanted = b.CreateAnd(mask, valid_lanes(e, lanes));
  Value* bits = b.CreateBitCast(wanted, b.getIntNTy(unsigned(lanes.width)));
  const uint64_t ones = ~uint64_t(0) >> (64 - lanes.valid);
  Value* all = b.CreateICmpEQ(bits, b.getIntN(unsigned(lanes.width), ones));
  return {.all = all, .mask = [wanted] { return wanted; }};
}

}  // namespace heddle::codegen::host
