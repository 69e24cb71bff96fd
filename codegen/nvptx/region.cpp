// Ops one after another, loops and branches. State is in registers: phi nodes.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "codegen/ir/fail.h"
#include "codegen/llvm/lane_ops.h"
#include "codegen/nvptx/emitter.h"

namespace heddle::codegen::nvptx {

using ir::Layout;
using ir::Op;
using ir::Opcode;
using ir::Region;
using llvm::Value;

namespace {

struct Phis {
  std::vector<std::vector<llvm::PHINode*>> of;  // by value, by register

  Phis(Emitter& e, const std::vector<ir::Value*>& values, size_t first = 0) {
    for (size_t i = first; i < values.size(); ++i) {
      const ir::Type& type = values[i]->type;
      const int64_t count = Emitter::is_tile(values[i]) ? e.layout(values[i]).register_count() : 1;
      auto& list = of.emplace_back();
      for (int64_t r = 0; r < count; ++r) list.push_back(e.builder.CreatePHI(e.register_type(type), 2));
    }
  }
  void add(Emitter& e, const std::vector<ir::Value*>& values, size_t first, llvm::BasicBlock* from) {
    for (size_t i = 0; i < of.size(); ++i) {
      const Registers registers = e.registers(values[first + i]);
      for (size_t r = 0; r < registers.size(); ++r) of[i][r]->addIncoming(registers[r], from);
    }
  }
  void bind(Emitter& e, const std::vector<ir::Value*>& values, size_t first = 0) {
    for (size_t i = 0; i < of.size(); ++i) e.bind(values[first + i], Registers(of[i].begin(), of[i].end()));
  }
};

void emit_for(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const Region& region = *op->regions[0];
  Value* lower = e.scalar(op->operands[0]);
  Value* step = e.scalar(op->operands[2]);
  Value* trips = trip_count(b, lower, e.scalar(op->operands[1]), step);
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock *body = e.new_block("for"), *exit = e.new_block("for_done");
  b.CreateCondBr(b.CreateICmpNE(trips, e.i64(0)), body, exit);

  b.SetInsertPoint(body);
  llvm::PHINode* turn = b.CreatePHI(b.getInt64Ty(), 2);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2);
  Phis state(e, op->results);
  turn->addIncoming(e.i64(0), before);
  index->addIncoming(lower, before);
  state.add(e, op->operands, 3, before);
  state.bind(e, region.arguments, 1);
  e.scalars[region.arguments[0]] = index;
  emit_region(e, region);
  const std::vector<ir::Value*>& yielded = region.ops.back()->operands;
  Value* next = b.CreateAdd(turn, e.i64(1));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  index->addIncoming(b.CreateAdd(index, step), latch);
  b.CreateCondBr(b.CreateICmpULT(next, trips), body, exit);
  turn->addIncoming(next, latch);
  state.add(e, yielded, 0, latch);

  b.SetInsertPoint(exit);
  Phis results(e, op->results);
  results.add(e, op->operands, 3, before);
  results.add(e, yielded, 0, latch);
  results.bind(e, op->results);
}

void emit_if(Emitter& e, const Op* op) {
  auto& b = e.builder;
  llvm::BasicBlock* sides[] = {e.new_block("then"), e.new_block("else")};
  llvm::BasicBlock* join = e.new_block("if_done");
  b.CreateCondBr(e.scalar(op->operands[0]), sides[0], sides[1]);
  b.SetInsertPoint(join);
  Phis results(e, op->results);
  for (size_t side = 0; side < 2; ++side) {
    b.SetInsertPoint(sides[side]);
    emit_region(e, *op->regions[side]);
    results.add(e, op->regions[side]->ops.back()->operands, 0, b.GetInsertBlock());
    b.CreateBr(join);
  }
  b.SetInsertPoint(join);
  results.bind(e, op->results);
}

void emit_while(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const Region &test = *op->regions[0], &body = *op->regions[1];
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock *header = e.new_block("while"), *turn = e.new_block("while_body"),
                   *exit = e.new_block("while_done");
  b.CreateBr(header);
  b.SetInsertPoint(header);
  Phis state(e, op->results);
  state.add(e, op->operands, 0, before);
  state.bind(e, test.arguments);
  emit_region(e, test);
  const std::vector<ir::Value*>& tested = test.ops.back()->operands;
  b.CreateCondBr(e.scalar(tested[0]), turn, exit);
  for (size_t i = 0; i < op->results.size(); ++i) {
    e.bind(body.arguments[i], e.registers(tested[1 + i]));
    e.bind(op->results[i], e.registers(tested[1 + i]));
  }
  b.SetInsertPoint(turn);
  emit_region(e, body);
  state.add(e, body.ops.back()->operands, 0, b.GetInsertBlock());
  b.CreateBr(header);
  b.SetInsertPoint(exit);
}

// Registers of a shape op's result are registers of its operand.
Registers reshaped(Emitter& e, const Op* op) {
  const ir::Value *from = op->operands[0], *to = op->results[0];
  if (!Emitter::is_tile(from)) {  // a scalar, to all lanes
    return Registers(size_t(e.layout(to).register_count()), e.scalar(from));
  }
  const Registers& source = e.tiles.at(from);
  const Layout& source_layout = e.layout(from);
  const int rank = from->type.rank;
  auto pick = [&](ir::Coordinates at) {
    for (int axis = 0; axis < rank; ++axis)
      if (from->type.extents[size_t(axis)].value == 1) at[size_t(axis)] = 0;
    const int64_t found = source_layout.find_register(at);
    if (found < 0)
      fail(ErrorKind::internal, op->where, "{}: the layouts do not fit", ir::info(op->code).name);
    return source[size_t(found)];
  };
  if (!Emitter::is_tile(to)) return {pick({})};
  const Layout& layout = e.layout(to);
  Registers result;
  for (int64_t r = 0; r < layout.register_count(); ++r) {
    ir::Coordinates at = layout.of_register(r);
    switch (op->code) {
      case Opcode::expand:
        for (int i = int(op->attribute(0)); i < rank; ++i) at[size_t(i)] = at[size_t(i + 1)];
        if (rank < ir::kMaxRank) at[size_t(rank)] = 0;
        break;
      case Opcode::squeeze:
        for (int i = rank - 1; i > op->attribute(0); --i) at[size_t(i)] = at[size_t(i - 1)];
        at[size_t(op->attribute(0))] = 0;
        break;
      case Opcode::transpose: std::swap(at[size_t(rank - 1)], at[size_t(rank - 2)]); break;
      default: break;
    }
    result.push_back(pick(at));
  }
  return result;
}

// f32 to bf16 or f16 two at a time, as the hardware does it.
Registers narrowed(Emitter& e, const Registers& from, DType to) {
  auto& b = e.builder;
  Registers result;
  for (size_t r = 0; r + 1 < from.size(); r += 2) {
    const auto id =
        to == DType::bf16 ? llvm::Intrinsic::nvvm_ff2bf16x2_rn : llvm::Intrinsic::nvvm_ff2f16x2_rn;
    Value* pair = b.CreateIntrinsic(id, {}, {from[r + 1], from[r]});
    Value* bits = b.CreateBitCast(pair, llvm::FixedVectorType::get(b.getInt16Ty(), 2));
    result.push_back(b.CreateExtractElement(bits, uint64_t(0)));
    result.push_back(b.CreateExtractElement(bits, uint64_t(1)));
  }
  if (from.size() % 2) result.push_back(convert(e, from.back(), DType::f32, to));
  return result;
}

// select(x < bound, bound, x), or with the comparison the other way round: one instruction, and NaN stays.
std::optional<llvm::Intrinsic::ID> clamp(const Op* op) {
  const Op* test = op->operands[0]->definition;
  if (op->code != Opcode::select || op->results[0]->type.element != DType::f32 || !test ||
      test->code != Opcode::lt)
    return {};
  const ir::Value *yes = op->operands[1], *no = op->operands[2];
  const Op* bound = yes->definition;
  // A zero bound would need a look at its sign; NaN compares with nothing.
  if (!bound || bound->code != Opcode::constant) return {};
  const double number = ir::float_payload(bound->attribute(0));
  if (!(number < 0 || number > 0)) return {};
  if (test->operands[0] == no && test->operands[1] == yes) return llvm::Intrinsic::maximum;
  if (test->operands[0] == yes && test->operands[1] == no) return llvm::Intrinsic::minimum;
  return {};
}

// Of f32, or of what is computed in f32 and rounded.
Registers rounded_lanes(Emitter& e, const Op* op, std::vector<Registers> operands) {
  const DType type = op->results[0]->type.element;
  for (Registers& operand : operands)
    for (Value*& value : operand) value = convert(e, value, type, DType::f32);
  const Registers wide =
      op->code == Opcode::div ? quotients(e, operands[0], operands[1]) : square_roots(e, operands[0]);
  return type == DType::f32 ? wide : narrowed(e, wide, type);
}

Value* reinterpreted(Emitter& e, Value* value, DType from, DType to) {
  auto& b = e.builder;
  const bool halves = is_any_float(from) && is_any_float(to) && from != to && size_bytes(from) == 2;
  if (!halves) return b.CreateBitCast(value, e.element_type(to));
  // Between f16 and bf16 LLVM 19 has no instruction, and combines two steps into one: hide the first.
  Value* bits = e.assembly("mov.b16 $0, $1;", "=h,h", b.getInt16Ty(),
                           {b.CreateBitCast(value, b.getInt16Ty())}, /*effects=*/false);
  return b.CreateBitCast(bits, e.element_type(to));
}

Registers lane_by_lane(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const ir::Value* result = op->results[0];
  const DType element = result->type.element;
  std::vector<Registers> operands;
  for (const ir::Value* operand : op->operands) operands.push_back(e.registers(operand));
  const DType from = op->operands.back()->type.element;
  if (op->code == Opcode::cast && from == DType::f32 && (element == DType::bf16 || element == DType::f16))
    return narrowed(e, operands[0], element);
  if ((op->code == Opcode::div || op->code == Opcode::sqrt) && is_floating(element) && element != DType::f64)
    return rounded_lanes(e, op, std::move(operands));
  const auto bounded = clamp(op);
  Registers out;
  for (size_t r = 0; r < operands[0].size(); ++r) {
    if (bounded) {
      out.push_back(b.CreateBinaryIntrinsic(*bounded, operands[1][r], operands[2][r]));
      continue;
    }
    switch (op->code) {
      case Opcode::cast: out.push_back(convert(e, operands[0][r], from, element)); break;
      case Opcode::bitcast: out.push_back(reinterpreted(e, operands[0][r], from, element)); break;
      case Opcode::pointer_add:
        out.push_back(b.CreateGEP(b.getInt8Ty(), operands[0][r],
                                  b.CreateMul(operands[1][r], e.i64(size_bytes(element)))));
        break;
      default: {
        std::vector<Value*> lane;
        for (const Registers& operand : operands) lane.push_back(operand[r]);
        out.push_back(lane_op(e, op->code, from, lane));
      }
    }
  }
  return out;
}

Registers arange(Emitter& e, const ir::Value* result) {
  auto& b = e.builder;
  const Layout& layout = e.layout(result);
  Value* base = b.CreateZExt(e.thread_coordinate(layout, 0), b.getInt64Ty());
  Registers out;
  for (int64_t r = 0; r < layout.register_count(); ++r)
    out.push_back(b.CreateAdd(base, e.i64(layout.of_register(r)[0]), "", /*HasNUW=*/true, /*HasNSW=*/true));
  return out;
}

void emit_op(Emitter& e, const Op* op) {
  auto& b = e.builder;
  const auto result = [&] { return op->results[0]; };
  switch (op->code) {
    case Opcode::for_loop: return emit_for(e, op);
    case Opcode::if_else: return emit_if(e, op);
    case Opcode::while_loop: return emit_while(e, op);
    case Opcode::yield: return;
    case Opcode::load:
    case Opcode::load_view: return emit_load(e, op);
    case Opcode::store:
    case Opcode::store_view: return emit_store(e, op);
    case Opcode::shared_buffer: return;
    case Opcode::store_shared: return emit_store_shared(e, op);
    case Opcode::load_shared: return emit_load_shared(e, op);
    case Opcode::copy_async: return emit_copy_async(e, op);
    case Opcode::commit_copies: e.assembly("cp.async.commit_group;", "", b.getVoidTy(), {}, true); return;
    case Opcode::wait_copies:
      e.assembly("cp.async.wait_group " + std::to_string(op->attribute(0)) + ";", "", b.getVoidTy(), {},
                 true);
      return;
    case Opcode::barrier: return e.barrier();
    case Opcode::mma: return emit_mma(e, op);
    case Opcode::load_fragments: return emit_load_fragments(e, op);
    case Opcode::mma_fragments: return emit_mma_fragments(e, op);
    case Opcode::reduce: return emit_reduce(e, op);
    case Opcode::constant: {
      Value* value = lane_constant(e, result()->type.element, op->attribute(0));
      const int64_t count = Emitter::is_tile(result()) ? e.layout(result()).register_count() : 1;
      return e.bind(result(), Registers(size_t(count), value));
    }
    case Opcode::arange: return e.bind(result(), arange(e, result()));
    case Opcode::broadcast:
      if (!Emitter::is_tile(result())) return e.bind(result(), {e.scalar(op->operands[0])});
      [[fallthrough]];
    case Opcode::expand:
    case Opcode::squeeze:
    case Opcode::transpose: return e.bind(result(), reshaped(e, op));
    case Opcode::view_extent:
      return e.bind(result(), {e.views.at(op->operands[0]).extents[size_t(op->attribute(0))]});
    case Opcode::view_stride:
      return e.bind(result(), {e.views.at(op->operands[0]).strides[size_t(op->attribute(0))]});
    case Opcode::worker_id: return e.bind(result(), {e.worker});
    case Opcode::work_param: return e.bind(result(), {e.work_params[size_t(op->attribute(0))]});
    case Opcode::select:
    case Opcode::cast:
    case Opcode::bitcast:
    case Opcode::pointer_add: return e.bind(result(), lane_by_lane(e, op));
    default: break;
  }
  if (!ir::info(op->code).elementwise)
    fail(ErrorKind::internal, op->where, "the NVIDIA target can't compile the op {}",
         ir::info(op->code).name);
  e.bind(result(), lane_by_lane(e, op));
}

}  // namespace

void emit_region(Emitter& e, const Region& region) {
  for (const Op* op : region.ops) emit_op(e, op);
}

}  // namespace heddle::codegen::nvptx
