#include "codegen/machine/pressure.h"

#include <algorithm>
#include <map>
#include <vector>

#include "codegen/machine/analysis.h"

namespace heddle::codegen {

namespace {

using ir::Op;
using ir::Opcode;
using ir::Value;

// Made again where they are used, or other names for registers of their operands.
bool takes_no_registers(Opcode code) {
  return code == Opcode::constant || code == Opcode::arange || is_shape_op(code);
}

// All lanes of a thread are tested before the first result is there (codegen/nvptx/quotient.cpp).
bool looks_at_all_lanes(const Op& op) {
  return op.code == Opcode::div || op.code == Opcode::sqrt;
}

bool takes_tiles_whole(const Op& op) {
  switch (op.code) {
    case Opcode::load:
    case Opcode::load_view:
    case Opcode::store:
    case Opcode::store_view:
    case Opcode::reduce: return true;
    default: return looks_at_all_lanes(op) || !op.regions.empty();
  }
}

// Ops are numbered in the order they run; a tile lives from its own number to that of its last use.
class Lifetimes {
 public:
  explicit Lifetimes(const ir::Function& function) { visit(function.body); }

  int64_t most_words() const {
    int64_t most = 0;
    for (const int64_t moment : moments_) {
      int64_t words = 0;
      for (const auto& [tile, life] : lives_)
        if (life.first <= moment && moment <= life.last) words += words_of(*tile);
      most = std::max(most, words);
    }
    return most;
  }

 private:
  struct Life {
    int64_t first, last;
  };

  static int64_t words_of(const Value& tile) {
    const bool addresses = tile.type.kind == ir::Type::Kind::pointer;
    return tile.type.count() * (addresses || size_bytes(tile.type.element) > 4 ? 2 : 1);
  }

  void define(const Value* value) {
    if (value->type.rank > 0) lives_[value] = {.first = now_, .last = now_};
  }

  void use(const Value* value) {
    while (value->definition && takes_no_registers(value->definition->code)) {
      if (value->definition->operands.empty()) return;
      value = value->definition->operands[0];
    }
    if (const auto found = lives_.find(value); found != lives_.end()) found->second.last = now_;
  }

  void visit(const ir::Region& region) {
    for (const Value* argument : region.arguments) define(argument);
    for (const Op* op : region.ops) {
      ++now_;
      for (const Value* operand : op->operands) use(operand);
      if (takes_tiles_whole(*op)) moments_.push_back(now_);
      if (op->code == Opcode::div) ++now_;  // quotients take their dividends' places
      const int64_t start = now_;
      for (const ir::Region* inner : op->regions) visit(*inner);
      // What a region uses of the tiles around it, its next turn uses again.
      for (auto& [tile, life] : lives_)
        if (life.first < start && life.last > start) life.last = now_;
      if (!takes_no_registers(op->code))
        for (const Value* result : op->results) define(result);
    }
  }

  int64_t now_ = 0;
  std::map<const Value*, Life> lives_;
  std::vector<int64_t> moments_;  // when an op takes tiles whole
};

}  // namespace

int64_t live_words(const ir::Function& function) {
  return Lifetimes(function).most_words();
}

}  // namespace heddle::codegen
