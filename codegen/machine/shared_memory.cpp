#include "codegen/machine/shared_memory.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace heddle::codegen {

using ir::Layout;

namespace {

constexpr int64_t kPieceBytes = 16;  // of cp.async, and of a row of a matrix for ldmatrix

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A register's part of the offset in a slot.
int64_t register_bytes(const BufferLayout& memory, const Layout& layout, int64_t index) {
  const ir::Coordinates at = layout.of_register(index);
  int64_t bytes = 0;
  for (int axis = 0; axis < layout.rank; ++axis) bytes += at[size_t(axis)] * memory.stride[size_t(axis)];
  return bytes;
}

}  // namespace

BufferLayout::BufferLayout(const ir::Type& type, int64_t pitch, int fast, const Swizzle& swizzle)
    : pitch(pitch), element_bytes(size_bytes(type.element)), fast(fast), swizzle(swizzle) {
  int64_t bytes = pitch;
  for (int axis = type.rank; axis-- > 0;) {
    extents[size_t(axis)] = type.extents[size_t(axis)].value;
    if (axis == fast) continue;
    stride[size_t(axis)] = bytes;
    bytes *= extents[size_t(axis)];
  }
  stride[size_t(fast)] = element_bytes;
  slot_bytes = round_up(bytes, swizzle.line());
}

BufferLayout::BufferLayout(const ir::Value* buffer)
    : BufferLayout(buffer->type, buffer->definition->attribute(2), int(buffer->definition->attribute(3)),
                   {.bits = int(buffer->definition->attribute(4)),
                    .to = int(buffer->definition->attribute(5)),
                    .from = int(buffer->definition->attribute(6))}) {
  offset = buffer->definition->attribute(0);
  slots = buffer->definition->attribute(1);
}

bool BufferLayout::has_own_bits(int axis) const {
  const auto power = [](int64_t value) { return std::has_single_bit(uint64_t(value)); };
  if (axis != fast) return power(pitch);
  const int64_t row = int64_t(std::bit_ceil(uint64_t(extents[size_t(axis)] * element_bytes)));
  return power(element_bytes) && pitch % row == 0;
}

WarpAccess SharedAccess::of_warp(int64_t warp) const {
  WarpAccess access{.bytes = bytes, .address = {}};
  for (int lane = 0; lane < lanes; ++lane) {
    const int64_t thread = warp * 32 + lane;
    if (std::all_of(guards.begin(), guards.end(),
                    [&](const Guard& guard) { return guard.value.of(thread) < guard.limit; }))
      access.address[size_t(lane)] = address.of(thread);
  }
  return access;
}

TileAccess tile_access(const BufferLayout& memory, const Layout& layout, AccessKind kind) {
  TileAccess result;
  const size_t fast = size_t(memory.fast);
  // A group of registers must be in the buffer as a whole.
  if (layout.covered(memory.fast) <= memory.extents[fast])
    result.width = std::min(
        layout.vector(memory.fast),
        std::max<int64_t>(1, std::min<int64_t>(16, memory.swizzle.granule()) / memory.element_bytes));
  ThreadSum start;
  for (int axis = 0; axis < layout.rank; ++axis)
    start += thread_coordinate(layout, axis) * memory.stride[size_t(axis)];
  for (int64_t r = 0; r < layout.register_count(); r += result.width) {
    SharedAccess access{.bytes = result.width * memory.element_bytes,
                        .address = {.linear = start, .swizzle = memory.swizzle},
                        .guards = {}};
    access.address.linear += register_bytes(memory, layout, r);
    for (int axis = 0; axis < layout.rank; ++axis) {
      if (layout.covered(axis) <= memory.extents[size_t(axis)]) continue;
      ThreadSum coordinate = thread_coordinate(layout, axis);
      coordinate += layout.of_register(r)[size_t(axis)];
      access.guards.push_back({.value = coordinate, .limit = memory.extents[size_t(axis)]});
    }
    if (kind == AccessKind::store && layout.has_copies())
      access.guards.push_back({.value = copies_before(layout), .limit = 1});
    result.accesses.push_back(std::move(access));
  }
  return result;
}

std::vector<CopyTurn> copy_turns(const BufferLayout& memory, int64_t threads) {
  const int64_t piece = kPieceBytes / memory.element_bytes;
  const int64_t pieces = (memory.extents[size_t(memory.fast)] + piece - 1) / piece;
  const int64_t rows = memory.extents[size_t(1 - memory.fast)];
  std::vector<CopyTurn> turns;
  for (int64_t first = 0; first < rows * pieces; first += threads) {
    // Where every turn goes on by whole rows, the row alone differs from turn to turn.
    const bool whole_rows = threads % pieces == 0;
    const int64_t ahead = whole_rows ? 0 : first;
    CopyTurn turn{.row = {.terms = {{.ahead = ahead, .divisor = pieces}}},
                  .column = {.terms = {{.ahead = ahead, .modulus = pieces, .factor = piece}}},
                  .to = {.bytes = kPieceBytes, .address = {}, .guards = {}}};
    if (whole_rows) turn.row += first / pieces;
    turn.to.address = {.linear = turn.row * memory.stride[size_t(1 - memory.fast)],
                       .swizzle = memory.swizzle};
    turn.to.address.linear += turn.column * memory.element_bytes;
    if (first + threads > rows * pieces)
      turn.to.guards.push_back({.value = {.terms = {{}}}, .limit = rows * pieces - first});
    turns.push_back(std::move(turn));
  }
  return turns;
}

Fragments::Fragments(const BufferLayout& memory, const MmaInstruction& instruction, int k_axis,
                     const Layout& accumulator)
    : memory_(memory), fragment_(instruction.fragment(k_axis)), k_axis_(k_axis) {
  const int outer = 1 - k_axis;
  const int64_t outer_bytes = memory.stride[size_t(outer)], k_bytes = memory.stride[size_t(k_axis)];
  blocks_ = accumulator.repeat[size_t(outer)];
  block_bytes_ = accumulator.block(outer) * outer_bytes;
  if (by_matrices()) {
    int bit = 3;  // of the lane: which matrix it names a row of
    if (registers() == 2) lane_ += thread_bits(4, 1) * block_bytes_;
    for (size_t i = size_t(std::countr_zero(uint64_t(in_register()))); i < fragment_.registers.size(); ++i) {
      const Layout::Bit& moves = fragment_.registers[i];
      lane_ += thread_bits(bit++, 1) * (memory.stride[size_t(moves.axis)] << moves.shift);
    }
    lane_ += thread_bits(0, 3) * (transposed() ? k_bytes : outer_bytes);
  } else {
    for (const int axis : {0, 1}) lane_ += thread_coordinate(fragment_, axis) * memory.stride[size_t(axis)];
  }
  lane_ += thread_coordinate(accumulator, outer, /*warps_only=*/true) * outer_bytes;
}

std::vector<SharedAccess> Fragments::loads(int64_t k, int64_t first, int64_t count) const {
  constexpr int64_t kMostMatrices = 4;  // of an ldmatrix
  std::vector<SharedAccess> loads;
  const auto load = [&](int64_t bytes, int64_t block, int64_t further, int lanes) {
    SharedAccess access{.bytes = bytes,
                        .address = {.linear = lane_, .swizzle = memory_.swizzle},
                        .guards = {},
                        .lanes = lanes};
    access.address.linear += block * block_bytes_ + k * memory_.stride[size_t(k_axis_)] + further;
    loads.push_back(std::move(access));
  };
  const int64_t at_once = by_matrices() ? kMostMatrices / registers() : 1;
  for (int64_t block = first; block < first + count; block += at_once) {
    if (by_matrices())
      load(kPieceBytes, block, 0, int(8 * registers() * std::min(at_once, first + count - block)));
    else
      for (int64_t r = 0; r < fragment_.register_count(); ++r)
        load(memory_.element_bytes, block, register_bytes(memory_, fragment_, r), 32);
  }
  return loads;
}

int64_t chain_steps(const BufferLayout& memory, int k_axis) {
  if (memory.fast != k_axis) return 1;
  int64_t steps =
      std::max<int64_t>(1, std::min<int64_t>(16, memory.swizzle.granule()) / memory.element_bytes);
  while (memory.extents[size_t(k_axis)] % steps != 0) steps /= 2;
  return steps;
}

int64_t chain_block(const BufferLayout& a, const BufferLayout& b, int64_t extent) {
  constexpr int64_t kUnroll = 4;
  int64_t block = extent % kUnroll == 0 ? kUnroll : 1;
  for (const auto& [memory, k_axis] : {std::pair(a, 1), std::pair(b, 0)}) {
    block = std::lcm(block, chain_steps(memory, k_axis));
    if (memory.swizzle.bits && !memory.has_own_bits(k_axis)) {
      const int64_t repeat = int64_t(1) << (memory.swizzle.from + memory.swizzle.bits);
      block = std::lcm(block, repeat / std::gcd(repeat, memory.stride[size_t(k_axis)]));
    }
  }
  return extent % block == 0 ? block : extent;
}

std::vector<ColumnLoad> column_loads(const BufferLayout& memory, int k_axis, const Layout& accumulator,
                                     int64_t k) {
  const int outer = 1 - k_axis;
  const int64_t outer_bytes = memory.stride[size_t(outer)];
  const int64_t width = memory.fast == outer
                            ? std::min(accumulator.vector(outer),
                                       std::max<int64_t>(1, std::min<int64_t>(16, memory.swizzle.granule()) /
                                                                memory.element_bytes))
                            : 1;
  const int64_t steps = chain_steps(memory, k_axis);
  ThreadSum start = thread_coordinate(accumulator, outer) * outer_bytes;
  start += k * memory.stride[size_t(k_axis)];
  std::vector<ColumnLoad> loads;
  const auto loaded = [&](int64_t at) {
    return std::any_of(loads.begin(), loads.end(),
                       [&](const ColumnLoad& load) { return at >= load.at && at < load.at + load.elements; });
  };
  for (int64_t r = 0; r < accumulator.register_count(); ++r) {
    const int64_t at = accumulator.of_register(r)[size_t(outer)];
    if (loaded(at)) continue;
    ColumnLoad load{.at = at, .elements = at % width == 0 ? width : 1, .steps = steps, .access = {}};
    load.access = {.bytes = load.elements * load.steps * memory.element_bytes,
                   .address = {.linear = start, .swizzle = memory.swizzle},
                   .guards = {}};
    load.access.address.linear += at * outer_bytes;
    loads.push_back(std::move(load));
  }
  return loads;
}

}  // namespace heddle::codegen
