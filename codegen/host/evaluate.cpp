#include "codegen/host/evaluate.h"

#include "codegen/ir/fail.h"
#include "codegen/llvm/lane_ops.h"

namespace heddle::codegen::host {

using ir::Op;
using ir::Opcode;
using llvm::Value;

namespace {

constexpr int kLinearDepth = 12;  // of the integer expressions looked through for a regular address

// The lanes of a shape op's operand that give these lanes of its result.
Lanes operand_lanes(Emitter& e, const Op* op, const Lanes& lanes) {
  const ir::Type& from = op->operands[0]->type;
  Lanes result = lanes;
  result.rank = from.rank;
  const Index zero{e.index(0), 0};
  auto one_lane = [&] {
    result.axis = -1;
    result.width = result.valid = 1;
  };
  switch (op->code) {
    case Opcode::broadcast:
      for (int i = 0; i < from.rank; ++i)
        if (from.extents[size_t(i)].value == 1) {
          result.index[size_t(i)] = zero;
          if (i == lanes.axis) one_lane();
        }
      return result;
    case Opcode::expand: {
      const int axis = int(op->attribute(0));
      for (int i = axis; i < from.rank; ++i) result.index[size_t(i)] = lanes.index[size_t(i + 1)];
      if (lanes.axis > axis) result.axis = lanes.axis - 1;
      return result;
    }
    case Opcode::squeeze: {
      const int axis = int(op->attribute(0));
      for (int i = from.rank - 1; i > axis; --i) result.index[size_t(i)] = lanes.index[size_t(i - 1)];
      result.index[size_t(axis)] = zero;
      if (lanes.axis >= axis) result.axis = lanes.axis + 1;
      return result;
    }
    case Opcode::transpose: {
      const int last = from.rank - 1;
      std::swap(result.index[size_t(last)], result.index[size_t(last - 1)]);
      if (lanes.axis >= last - 1) result.axis = lanes.axis == last ? last - 1 : last;
      return result;
    }
    default: return result;
  }
}

bool is_shape_op(Opcode code) {
  return code == Opcode::broadcast || code == Opcode::expand || code == Opcode::squeeze ||
         code == Opcode::transpose;
}

// base + i * step for lane i.
struct Linear {
  Value *base, *step;
};

bool is_zero(const Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant && constant->isZero();
}

// Integer tiles that are regular along the lanes: what addresses are made of.
std::optional<Linear> linear(Emitter& e, const ir::Value* value, const Lanes& lanes, int depth = 0) {
  if (lanes.axis < 0) return Linear{evaluate(e, value, lanes), e.index(0)};
  if (depth > kLinearDepth || !value->definition || e.tiles.count(value)) return {};
  const Op* op = value->definition;
  auto operand = [&](int i) { return linear(e, op->operands[size_t(i)], lanes, depth + 1); };
  switch (op->code) {
    case Opcode::constant: return Linear{lane_constant(e, DType::i64, op->attribute(0)), e.index(0)};
    case Opcode::arange: return Linear{lanes.index[0].value, e.index(1)};
    case Opcode::broadcast:
      if (op->operands[0]->type.rank == 0) return Linear{e.scalar(op->operands[0]), e.index(0)};
      [[fallthrough]];
    case Opcode::expand:
    case Opcode::squeeze:
    case Opcode::transpose: return linear(e, op->operands[0], operand_lanes(e, op, lanes), depth + 1);
    case Opcode::add:
    case Opcode::sub: {
      const auto x = operand(0), y = operand(1);
      if (!x || !y) return {};
      auto& b = e.at(lanes.level());
      if (op->code == Opcode::add)
        return Linear{b.CreateAdd(x->base, y->base), b.CreateAdd(x->step, y->step)};
      return Linear{b.CreateSub(x->base, y->base), b.CreateSub(x->step, y->step)};
    }
    case Opcode::mul: {
      const auto x = operand(0), y = operand(1);
      if (!x || !y || !(is_zero(x->step) || is_zero(y->step))) return {};
      auto& b = e.at(lanes.level());
      Value* step = is_zero(x->step) ? b.CreateMul(x->base, y->step) : b.CreateMul(x->step, y->base);
      return Linear{b.CreateMul(x->base, y->base), step};
    }
    default: return {};
  }
}

Value* evaluate_load_view(Emitter& e, const Op* op, const Lanes& lanes) {
  const Window& window = e.windows.at(op);
  const Access access = window_access(e, window, lanes);
  const Guard guard = window_guard(e, window, lanes);
  Value* fill = nullptr;
  if (op->attribute(0)) {
    e.at(0);
    fill = e.splat(e.scalar(op->operands.back()), lanes.width);
  }
  return load_lanes(e, lanes.level(), op->result()->type.element, access, lanes, guard, fill);
}

Value* evaluate_load(Emitter& e, const Op* op, const Lanes& lanes) {
  const Access access = pointer_access(e, op->operands[0], lanes);
  Value* mask = op->operands.size() > 1 ? evaluate(e, op->operands[1], lanes) : nullptr;
  Value* fill = op->operands.size() > 2 ? evaluate(e, op->operands[2], lanes) : nullptr;
  Guard guard = mask_guard(e, mask, lanes);
  return load_lanes(e, lanes.level(), op->result()->type.element, access, lanes, guard, fill);
}

Value* evaluate_op(Emitter& e, const Op* op, const Lanes& lanes) {
  const DType element = op->result()->type.element;
  switch (op->code) {
    case Opcode::constant: return e.splat(lane_constant(e, element, op->attribute(0)), lanes.width);
    case Opcode::arange: {
      auto& b = e.at(lanes.level());
      return b.CreateAdd(e.splat(lanes.index[0].value, lanes.width), e.lane_numbers(lanes.width));
    }
    case Opcode::load_view: return evaluate_load_view(e, op, lanes);
    case Opcode::load: return evaluate_load(e, op, lanes);
    default: break;
  }
  if (is_shape_op(op->code)) {
    const ir::Value* operand = op->operands[0];
    if (operand->type.rank == 0) {
      e.at(0);
      return e.splat(e.scalar(operand), lanes.width);
    }
    const Lanes inner = operand_lanes(e, op, lanes);
    Value* value = evaluate(e, operand, inner);
    if (inner.width == lanes.width) return value;
    e.at(inner.level());
    return e.splat(value, lanes.width);
  }
  std::vector<Value*> operands;
  for (const ir::Value* operand : op->operands) operands.push_back(evaluate(e, operand, lanes));
  auto& b = e.at(lanes.level());
  const DType from = op->operands[0]->type.element;
  if (op->code == Opcode::cast) return convert(e, operands[0], from, element);
  if (op->code == Opcode::bitcast)
    return b.CreateBitCast(operands[0], lanes_like(operands[0], e.element_type(element)));
  if (op->code == Opcode::select || ir::info(op->code).elementwise)
    return lane_op(e, op->code, from, operands);
  fail(ErrorKind::internal, op->where, "the host target can't evaluate the op {} lane by lane",
       ir::info(op->code).name);
}

}  // namespace

Value* evaluate(Emitter& e, const ir::Value* value, const Lanes& lanes) {
  if (value->type.rank == 0) return e.scalar(value);
  Level::Key key{.what = value, .index = {}, .axis = lanes.axis, .width = lanes.width, .valid = lanes.valid};
  for (int i = 0; i < lanes.rank; ++i) key.index[size_t(i)] = lanes.index[size_t(i)].value;
  const int level = lanes.level();
  if (const auto found = e.levels[size_t(level)].memo.find(key); found != e.levels[size_t(level)].memo.end())
    return found->second;
  const auto tile = e.tiles.find(value);
  Value* result = tile != e.tiles.end() ? load_tile(e, tile->second, value->type, lanes)
                                        : evaluate_op(e, value->definition, lanes);
  e.levels[size_t(level)].memo.emplace(key, result);
  return result;
}

Access pointer_access(Emitter& e, const ir::Value* pointers, const Lanes& lanes) {
  if (pointers->type.rank == 0) return {.base = e.scalar(pointers), .step = e.index(0)};
  const Op* op = pointers->definition;
  if (const auto tile = e.tiles.find(pointers); tile != e.tiles.end()) {
    Value* addresses = load_tile(e, tile->second, pointers->type, lanes);
    auto& b = e.at(lanes.level());
    if (lanes.width == 1) return {.base = b.CreateIntToPtr(addresses, b.getPtrTy()), .step = e.index(0)};
    return {.base = llvm::ConstantPointerNull::get(b.getPtrTy()), .step = e.index(0), .offsets = addresses};
  }
  if (is_shape_op(op->code)) {
    if (op->operands[0]->type.rank == 0) return {.base = e.scalar(op->operands[0]), .step = e.index(0)};
    return pointer_access(e, op->operands[0], operand_lanes(e, op, lanes));
  }
  // pointer_add
  Access access = pointer_access(e, op->operands[0], lanes);
  const ir::Value* offsets = op->operands[1];
  const int64_t bytes = size_bytes(pointers->type.element);
  if (const auto regular = linear(e, offsets, lanes)) {
    auto& b = e.at(lanes.level());
    access.base = b.CreateGEP(b.getInt8Ty(), access.base, b.CreateMul(regular->base, e.index(bytes)));
    access.step = b.CreateAdd(access.step, b.CreateMul(regular->step, e.index(bytes)));
    return access;
  }
  Value* irregular = evaluate(e, offsets, lanes);
  auto& b = e.at(lanes.level());
  Value* scaled = b.CreateMul(irregular, e.splat(e.index(bytes), lanes.width));
  access.offsets = access.offsets ? b.CreateAdd(access.offsets, scaled) : scaled;
  return access;
}

// Addresses as numbers, for tiles of pointers that are kept in memory.
static Value* addresses(Emitter& e, const ir::Value* pointers, const Lanes& lanes) {
  const Access access = pointer_access(e, pointers, lanes);
  auto& b = e.at(lanes.level());
  Value* base = b.CreatePtrToInt(access.base, b.getInt64Ty());
  if (lanes.width == 1) return base;
  Value* steps = b.CreateMul(e.splat(access.step, lanes.width), e.lane_numbers(lanes.width));
  Value* result = b.CreateAdd(e.splat(base, lanes.width), steps);
  return access.offsets ? b.CreateAdd(result, access.offsets) : result;
}

void materialise(Emitter& e, const ir::Value* value, const Tile& tile) {
  const bool pointers = value->type.kind == ir::Type::Kind::pointer;
  const int lane_bytes = std::max(e.plan.of(value).lane_bytes, pointers ? 4 : 1);
  versioned(e, {value}, nullptr, [&] {
    for_each_lanes(e, value->type, inner_axis(value->type), lane_bytes, [&](const Lanes& lanes) {
      Value* lane_values = pointers ? addresses(e, value, lanes) : evaluate(e, value, lanes);
      store_tile(e, tile, value->type, lanes, lane_values);
    });
  });
}

}  // namespace heddle::codegen::host
