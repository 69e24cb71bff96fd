#include "codegen/machine/natural.h"

#include <algorithm>
#include <bit>

#include "codegen/machine/analysis.h"
#include "codegen/machine/mma.h"
#include "codegen/machine/pressure.h"

namespace heddle::codegen {

using ir::Layout;
using ir::Op;
using ir::Opcode;
using ir::Value;

namespace {

// What the rules below look at.
struct Census {
  int64_t dot = 0;      // lanes of the largest dot's result; 0 = no dot
  int64_t largest = 1;  // lanes of the largest tile
  bool pointers = false;

  explicit Census(const ir::Function& function) {
    ir::walk(function.body, [&](const Op* op) {
      for (const Value* result : op->results) {
        if (op->code == Opcode::dot) dot = std::max(dot, result->type.count());
        if (result->type.kind == ir::Type::Kind::data) largest = std::max(largest, result->type.count());
        pointers |= result->type.kind == ir::Type::Kind::pointer && result->type.rank > 0;
      }
    });
  }
};

int64_t power_of_two(int64_t value, int64_t low, int64_t high) {
  return int64_t(std::bit_floor(uint64_t(std::clamp(value, low, high))));
}

}  // namespace

// A thread's share of the largest tile, and of the tiles that live at once, in 32-bit words.
constexpr int64_t kElements = 32, kElementsWithAddress = 16, kLiveWords = 48;

int64_t default_warps(const ir::Function& function) {
  const Census census(function);
  if (census.dot) return power_of_two(census.dot / (64 * 64), 4, 8);
  if (census.pointers) return power_of_two(census.largest / (32 * kElementsWithAddress), 1, 32);
  const int64_t for_registers = (live_words(function) + 32 * kLiveWords - 1) / (32 * kLiveWords);
  return std::max(power_of_two(census.largest / (32 * kElements), 1, 32),
                  int64_t(std::bit_ceil(uint64_t(std::clamp<int64_t>(for_registers, 1, 32)))));
}

int64_t default_ctas(const ir::Function& function, int64_t warps) {
  const Census census(function);
  if (census.dot) return 1;
  const int64_t threads = warps * 32;
  const int64_t wanted =
      census.pointers ? 48 + 5 * census.largest / threads : 32 + live_words(function) / threads;
  const int64_t registers = std::min<int64_t>((wanted + 7) / 8 * 8, 255);  // they are dealt out in eights
  // Each quarter of a multiprocessor has a quarter of its 64 Ki registers.
  const int64_t resident = 4 * (16 * 1024 / (registers * 32));
  return std::clamp<int64_t>(resident / warps, 1, 32);
}

// Warps side by side so that each one's part is as square as can be: it reads the least of both operands.
Layout NaturalLayouts::accumulator(const Op& dot) const {
  const ir::Type& tile = dot.results[0]->type;
  const MmaInstruction* instruction = mma_for(dot, sm_);
  const int64_t rows = instruction ? instruction->m() : 4, columns = instruction ? instruction->n() : 32;
  int64_t warps_m = 1, warps_n = 1;
  while (warps_m * warps_n < warps_) {
    const int64_t m = tile.extents[0].value / warps_m, n = tile.extents[1].value / warps_n;
    const bool more_m = m > rows, more_n = n > columns;
    if (more_m && (m >= n || !more_n))
      warps_m *= 2;
    else
      warps_n *= 2;
  }
  return instruction ? ir::spread(instruction->c, tile, warps_m, warps_n)
                     : ir::fma_accumulator(tile, warps_m, warps_n);
}

std::optional<Layout> NaturalLayouts::of(const Value* tile) {
  if (tile->type.rank == 0) return {};
  if (const auto found = known_.find(tile); found != known_.end()) return found->second;
  std::optional<Layout> layout = compute(tile);
  // Within a loop that is being looked at, "nothing" may yet become something.
  if (layout || open_.empty()) known_[tile] = layout;
  return layout;
}

Layout NaturalLayouts::or_blocked(const Value* tile) {
  if (const auto layout = of(tile)) return *layout;
  return ir::blocked(tile->type, tile->type.rank - 1, 1, warps_);
}

Layout NaturalLayouts::of_stored(const Op& store) {
  const Value* value = store.operands[1];
  if (const auto layout = of(value)) return *layout;
  const WideAccess wide = wide_access(function_, store);
  return ir::blocked(value->type, wide.axis, wide.elements, warps_);
}

std::optional<Layout> NaturalLayouts::coalesced(const Op& store) {
  // What the caches move to and from memory as one (CUDA C++ Best Practices Guide, "Coalesced Access to
  // Global Memory").
  constexpr int64_t kSectorBytes = 32;
  const ir::Type& type = store.operands[1]->type;
  const WideAccess wide = wide_access(function_, store);
  // Addresses and masks can be made again in any layout, unless they come from data.
  for (size_t i = 0; store.code == Opcode::store && i < store.operands.size(); ++i)
    if (i != 1 && of(store.operands[i])) return {};
  if (wide.elements == 1 || type.count() < warps_ * 32 * wide.elements) return {};
  const Layout natural = of_stored(store), other = ir::blocked(type, wide.axis, wide.elements, warps_);
  const auto width = [&](const Layout& layout) { return std::min(wide.elements, layout.vector(wide.axis)); };
  const auto bytes = [&](const Layout& layout) {
    return ir::run_of_lanes(layout, wide.axis, width(layout)) * size_bytes(type.element);
  };
  if (bytes(natural) >= kSectorBytes || bytes(other) < kSectorBytes) return {};
  if (other.register_count() / width(other) >= natural.register_count() / width(natural)) return {};
  return other;
}

std::optional<Layout> NaturalLayouts::of_state(const Op& op, size_t index) {
  if (!open_.insert(&op).second) return {};
  std::optional<Layout> layout;
  const auto try_value = [&](const Value* value) {
    if (!layout) layout = of(value);
  };
  const auto yielded = [&](size_t region, size_t skip) {
    try_value(op.regions[region]->ops.back()->operands[index + skip]);
  };
  switch (op.code) {
    case Opcode::for_loop:
      yielded(0, 0);
      try_value(op.operands[3 + index]);
      break;
    case Opcode::while_loop:
      yielded(1, 0);
      yielded(0, 1);
      try_value(op.operands[index]);
      break;
    default: yielded(0, 0); yielded(1, 0);
  }
  open_.erase(&op);
  if (!layout && open_.empty())
    layout = ir::blocked(op.results[index]->type, op.results[index]->type.rank - 1, 1, warps_);
  return layout;
}

std::optional<Layout> NaturalLayouts::of_operands(const Op& op) {
  std::optional<Layout> first;
  for (const Value* operand : op.operands) {
    const auto layout = of(operand);
    if (!layout) continue;
    // A dot's layout wins over a load's: moving the accumulator costs more than a narrower load.
    const Op* source = operand->definition;
    const bool loaded = source && (source->code == Opcode::load || source->code == Opcode::load_view);
    if (!first || !loaded) first = layout;
    if (!loaded) break;
  }
  return first;
}

std::optional<Layout> NaturalLayouts::compute(const Value* tile) {
  if (!tile->definition) {
    const Op* parent = tile->region->parent;
    if (!parent) return {};
    const size_t index = size_t(tile->index) - (parent->code == Opcode::for_loop ? 1 : 0);
    return of(parent->results[index]);
  }
  const Op& op = *tile->definition;
  switch (op.code) {
    case Opcode::for_loop:
    case Opcode::while_loop:
    case Opcode::if_else: return of_state(op, size_t(tile->index));
    case Opcode::dot: return accumulator(op);
    case Opcode::load:
      if (const auto layout = of(op.operands[0])) return layout;  // addresses that were computed from data
      [[fallthrough]];
    case Opcode::load_view: {
      const WideAccess wide = wide_access(function_, op);
      return ir::blocked(tile->type, wide.axis, wide.elements, warps_);
    }
    case Opcode::reduce: return ir::collapsed(or_blocked(op.operands[0]), int(op.attribute(1)));
    case Opcode::expand:
      if (const auto layout = of(op.operands[0])) return ir::with_axis(*layout, int(op.attribute(0)));
      return {};
    case Opcode::squeeze:
      if (const auto layout = of(op.operands[0])) return ir::without_axis(*layout, int(op.attribute(0)));
      return {};
    case Opcode::transpose:
      if (const auto layout = of(op.operands[0])) return ir::transposed(*layout);
      return {};
    case Opcode::constant:
    case Opcode::arange:
    case Opcode::broadcast: return {};
    default: return of_operands(op);
  }
}

}  // namespace heddle::codegen
