// Loops and branches. Scalar state is in registers (phi nodes), tile state in scratch memory: one tile for
// each state, updated in place where nothing still needs the old one, else assigned when the region yields.
#include "codegen/host/control.h"

#include "codegen/ir/fail.h"
#include "codegen/llvm/lane_ops.h"

namespace heddle::codegen::host {

using ir::Op;
using ir::Region;
using llvm::Value;

namespace {

void check_state(const Op* op, const ir::Value* value) {
  if (value->type.kind != ir::Type::Kind::data && value->type.kind != ir::Type::Kind::pointer)
    fail(ErrorKind::internal, op->where, "the host target can't carry {} through a region",
         ir::to_string(value->type));
}

// The memory of an op's tile results, holding the initial states operands[first...]. Scalars: unallocated.
std::vector<Tile> state_tiles(Emitter& e, const Op* op, size_t first) {
  std::vector<Tile> tiles;
  std::vector<std::pair<const ir::Value*, Tile>> initial;
  for (size_t i = 0; i < op->results.size(); ++i) {
    const ir::Value* result = op->results[i];
    check_state(op, result);
    tiles.emplace_back();
    if (!is_tile_value(result)) continue;
    tiles.back() = claim_from(e, result, op->operands[first + i]);
    initial.push_back({op->operands[first + i], tiles.back()});
  }
  assign(e, initial);
  return tiles;
}

std::vector<std::pair<const ir::Value*, Tile>> yielded(const Op* yield, size_t first,
                                                       const std::vector<Tile>& tiles) {
  std::vector<std::pair<const ir::Value*, Tile>> list;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (tiles[i].allocated()) list.push_back({yield->operands[first + i], tiles[i]});
  return list;
}

void bind_tiles(Emitter& e, const Region& region, size_t first, const std::vector<Tile>& tiles) {
  for (size_t i = 0; i < tiles.size(); ++i)
    if (tiles[i].allocated()) e.tiles[region.arguments[first + i]] = tiles[i];
}

std::vector<const ir::Value*> holders_of(const Region& region, size_t first) {
  return {region.arguments.begin() + ptrdiff_t(first), region.arguments.end()};
}

// Phi nodes for the scalar states, in the builder's block; null for tiles.
std::vector<llvm::PHINode*> scalar_phis(Emitter& e, const std::vector<ir::Value*>& results) {
  std::vector<llvm::PHINode*> phis;
  for (const ir::Value* result : results)
    phis.push_back(is_tile_value(result) ? nullptr : e.builder.CreatePHI(e.scalar_type(result->type), 2));
  return phis;
}

void add_incoming(Emitter& e, const std::vector<llvm::PHINode*>& phis, const ir::Value* const* values,
                  llvm::BasicBlock* from) {
  for (size_t i = 0; i < phis.size(); ++i)
    if (phis[i]) phis[i]->addIncoming(e.scalar(values[i]), from);
}

void set_scalars(Emitter& e, const std::vector<llvm::PHINode*>& phis, ir::Value* const* values) {
  for (size_t i = 0; i < phis.size(); ++i)
    if (phis[i]) e.scalars[values[i]] = phis[i];
}

}  // namespace

void emit_for(Emitter& e, const Op* op) {
  const Region& region = *op->regions[0];
  const std::vector<Tile> tiles = state_tiles(e, op, 3);
  Value* lower = e.scalar(op->operands[0]);
  Value* step = e.scalar(op->operands[2]);
  Value* trips = trip_count(e.at(0), lower, e.scalar(op->operands[1]), step);
  auto& b = e.at(0);
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* body = e.new_block("for");
  llvm::BasicBlock* exit = e.new_block("for_done");
  b.CreateCondBr(b.CreateICmpNE(trips, e.index(0)), body, exit);

  b.SetInsertPoint(body);
  llvm::PHINode* turn = b.CreatePHI(b.getInt64Ty(), 2);
  const auto state = scalar_phis(e, op->results);
  turn->addIncoming(e.index(0), before);
  add_incoming(e, state, op->operands.data() + 3, before);
  set_scalars(e, state, region.arguments.data() + 1);
  e.moved(0);
  e.scalars[region.arguments[0]] = b.CreateAdd(lower, b.CreateMul(turn, step));
  bind_tiles(e, region, 1, tiles);
  prefer(e, region.ops.back(), 0, tiles, holders_of(region, 1));

  const Op* yield = region.ops.back();
  emit_region(e, region, [&](const Op*) { assign(e, yielded(yield, 0, tiles)); });
  e.at(0);
  Value* next = b.CreateAdd(turn, e.index(1));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  b.CreateCondBr(b.CreateICmpULT(next, trips), body, exit);
  turn->addIncoming(next, latch);
  add_incoming(e, state, yield->operands.data(), latch);

  b.SetInsertPoint(exit);
  const auto results = scalar_phis(e, op->results);
  add_incoming(e, results, op->operands.data() + 3, before);
  add_incoming(e, results, yield->operands.data(), latch);
  set_scalars(e, results, op->results.data());
  e.moved(0);
}

void emit_if(Emitter& e, const Op* op) {
  std::vector<Tile> tiles;
  std::vector<const ir::Value*> holders;
  for (const ir::Value* result : op->results) {
    check_state(op, result);
    tiles.push_back(is_tile_value(result) ? claim(e, result) : Tile{});
    const auto holder = e.preferred_holder.find(result);
    holders.push_back(holder == e.preferred_holder.end() ? nullptr : holder->second);
  }
  auto& b = e.at(0);
  llvm::BasicBlock* blocks[] = {e.new_block("then"), e.new_block("else")};
  llvm::BasicBlock* join = e.new_block("if_done");
  b.CreateCondBr(e.scalar(op->operands[0]), blocks[0], blocks[1]);
  b.SetInsertPoint(join);
  const auto results = scalar_phis(e, op->results);
  for (size_t side = 0; side < 2; ++side) {
    const Region& region = *op->regions[side];
    e.levels[0].block = blocks[side];
    const Op* yield = region.ops.back();
    prefer(e, yield, 0, tiles, holders);
    emit_region(e, region, [&](const Op*) { assign(e, yielded(yield, 0, tiles)); });
    e.at(0);
    add_incoming(e, results, yield->operands.data(), b.GetInsertBlock());
    b.CreateBr(join);
  }
  set_scalars(e, results, op->results.data());
  b.SetInsertPoint(join);
  e.moved(0);
}

void emit_while(Emitter& e, const Op* op) {
  const Region &test = *op->regions[0], &body = *op->regions[1];
  const std::vector<Tile> tiles = state_tiles(e, op, 0);
  auto& b = e.at(0);
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* header = e.new_block("while");
  llvm::BasicBlock* turn = e.new_block("while_body");
  llvm::BasicBlock* exit = e.new_block("while_done");
  b.CreateBr(header);

  b.SetInsertPoint(header);
  const auto state = scalar_phis(e, op->results);
  add_incoming(e, state, op->operands.data(), before);
  set_scalars(e, state, test.arguments.data());
  e.moved(0);
  bind_tiles(e, test, 0, tiles);
  const Op* test_yield = test.ops.back();
  prefer(e, test_yield, 1, tiles, holders_of(test, 0));
  emit_region(e, test, [&](const Op*) { assign(e, yielded(test_yield, 1, tiles)); });
  e.at(0).CreateCondBr(e.scalar(test_yield->operands[0]), turn, exit);

  // What the test yields is the body's state, and the result when the loop ends: it dominates both.
  for (size_t i = 0; i < op->results.size(); ++i)
    if (!tiles[i].allocated()) {
      e.scalars[body.arguments[i]] = e.scalar(test_yield->operands[1 + i]);
      e.scalars[op->results[i]] = e.scalar(test_yield->operands[1 + i]);
    }
  e.levels[0].block = turn;
  bind_tiles(e, body, 0, tiles);
  const Op* body_yield = body.ops.back();
  prefer(e, body_yield, 0, tiles, holders_of(body, 0));
  emit_region(e, body, [&](const Op*) { assign(e, yielded(body_yield, 0, tiles)); });
  e.at(0);
  add_incoming(e, state, body_yield->operands.data(), b.GetInsertBlock());
  b.CreateBr(header);
  e.levels[0].block = exit;
  e.at(0);
}

}  // namespace heddle::codegen::host
