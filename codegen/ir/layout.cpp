#include "codegen/ir/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace heddle::ir {

namespace {

using Bit = Layout::Bit;

template <class Visit>
void for_each_bit(const Layout& layout, Visit&& visit) {
  for (const std::vector<Bit>* bits : {&layout.registers, &layout.lanes, &layout.warps})
    for (const Bit& bit : *bits) visit(bit);
}

template <class Change>
void change_bits(Layout& layout, Change&& change) {
  for (std::vector<Bit>* bits : {&layout.registers, &layout.lanes, &layout.warps})
    for (Bit& bit : *bits) change(bit);
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

int log2_floor(int64_t value) {
  return std::bit_width(uint64_t(value)) - 1;
}

// How many bits along an axis of `extent` are worth having: those that reach its end, unless fewer of them
// with a repeat leave less padding than an eighth.
int useful_bits(int64_t extent) {
  const int reach = std::bit_width(uint64_t(extent - 1));
  for (int bits = reach; bits > 0; --bits) {
    const int64_t block = int64_t(1) << bits;
    if (8 * (ceil_div(extent, block) * block - extent) <= extent) return bits;
  }
  return 0;
}

// Hands out the bits of an axis, lowest first.
class Axes {
 public:
  explicit Axes(Layout& layout) : layout_(layout) {}
  void give(std::vector<Bit>& to, int axis, int count) {
    for (int i = 0; i < count; ++i) to.push_back({int8_t(axis), int8_t(used_[size_t(axis)]++)});
  }
  int used(int axis) const { return used_[size_t(axis)]; }
  void cover(const Type& tile) {
    for (int axis = 0; axis < tile.rank; ++axis)
      layout_.repeat[size_t(axis)] = ceil_div(tile.extents[size_t(axis)].value, layout_.block(axis));
  }

 private:
  Layout& layout_;
  std::array<int, kMaxRank> used_{};
};

}  // namespace

int64_t Layout::block(int axis) const {
  int64_t extent = 1;
  for_each_bit(*this, [&](const Bit& bit) {
    if (bit.axis == axis) extent *= 2;
  });
  return extent;
}

int64_t Layout::covered(int axis) const {
  return block(axis) * repeat[size_t(axis)];
}

int64_t Layout::register_count() const {
  int64_t count = int64_t(1) << registers.size();
  for (int axis = 0; axis < rank; ++axis) count *= repeat[size_t(axis)];
  return count;
}

Coordinates Layout::of_register(int64_t index) const {
  Coordinates at{};
  for (const Bit& bit : registers) {
    if (bit.axis >= 0) at[size_t(bit.axis)] += (index & 1) << bit.shift;
    index >>= 1;
  }
  for (int axis = rank; axis-- > 0;) {
    at[size_t(axis)] += index % repeat[size_t(axis)] * block(axis);
    index /= repeat[size_t(axis)];
  }
  return at;
}

Coordinates Layout::of_thread(int64_t thread) const {
  Coordinates at{};
  for (const std::vector<Bit>* bits : {&lanes, &warps})
    for (const Bit& bit : *bits) {
      if (bit.axis >= 0) at[size_t(bit.axis)] += (thread & 1) << bit.shift;
      thread >>= 1;
    }
  return at;
}

int64_t Layout::find_register(const Coordinates& offset) const {
  int64_t repeats = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t turn = offset[size_t(axis)] / block(axis);
    if (turn >= repeat[size_t(axis)]) return -1;
    repeats = repeats * repeat[size_t(axis)] + turn;
  }
  int64_t index = repeats << registers.size();
  for (size_t i = 0; i < registers.size(); ++i)
    if (registers[i].axis >= 0 && offset[size_t(registers[i].axis)] >> registers[i].shift & 1)
      index |= int64_t(1) << i;
  return of_register(index) == offset ? index : -1;
}

bool Layout::has_copies() const {
  const auto copies = [](const Bit& bit) { return bit.axis < 0; };
  return std::any_of(lanes.begin(), lanes.end(), copies) || std::any_of(warps.begin(), warps.end(), copies);
}

int64_t Layout::vector(int axis) const {
  int64_t count = 1;
  for (const Bit& bit : registers) {
    if (bit.axis != axis || int64_t(1) << bit.shift != count) break;
    count *= 2;
  }
  return count;
}

int64_t run_of_lanes(const Layout& layout, int axis, int64_t vector) {
  const auto held = [&](int64_t distance) {
    return std::any_of(layout.lanes.begin(), layout.lanes.end(), [&](const Bit& bit) {
      return bit.axis == axis && int64_t(1) << bit.shift == distance;
    });
  };
  int64_t run = vector;
  while (held(run)) run *= 2;
  return run;
}

Layout collapsed(const Layout& layout, int axis) {
  Layout result = layout;
  std::erase_if(result.registers, [&](const Bit& bit) { return bit.axis == axis; });
  change_bits(result, [&](Bit& bit) {
    if (bit.axis == axis) bit = {};
  });
  result.repeat[size_t(axis)] = 1;
  return result;
}

Layout with_axis(const Layout& layout, int axis) {
  Layout result = layout;
  change_bits(result, [&](Bit& bit) {
    if (bit.axis >= axis) ++bit.axis;
  });
  for (int i = layout.rank; i > axis; --i) result.repeat[size_t(i)] = result.repeat[size_t(i - 1)];
  result.repeat[size_t(axis)] = 1;
  ++result.rank;
  return result;
}

Layout without_axis(const Layout& layout, int axis) {
  Layout result = collapsed(layout, axis);
  change_bits(result, [&](Bit& bit) {
    if (bit.axis > axis) --bit.axis;
  });
  for (int i = axis; i + 1 < layout.rank; ++i) result.repeat[size_t(i)] = result.repeat[size_t(i + 1)];
  result.repeat[size_t(--result.rank)] = 1;
  return result;
}

Layout transposed(const Layout& layout) {
  Layout result = layout;
  const int last = layout.rank - 1;
  change_bits(result, [&](Bit& bit) {
    if (bit.axis >= last - 1) bit.axis = int8_t(bit.axis == last ? last - 1 : last);
  });
  std::swap(result.repeat[size_t(last)], result.repeat[size_t(last - 1)]);
  // Registers are numbered by repeats of the last axis first; reordering them is the caller's affair.
  return result;
}

Layout blocked(const Type& tile, int fast, int64_t vector, int64_t warps) {
  Layout layout{.rank = tile.rank, .registers = {}, .lanes = {}, .warps = {}};
  Axes axes(layout);
  std::vector<int> order{fast};
  for (int axis = tile.rank; axis-- > 0;)
    if (axis != fast) order.push_back(axis);
  int lanes = Layout::kLaneBits, warp_bits = log2_floor(warps);
  for (const int axis : order) {
    const int wanted = useful_bits(tile.extents[size_t(axis)].value);
    if (axis == fast) axes.give(layout.registers, axis, std::min(wanted, log2_floor(vector)));
    const int along = std::clamp(wanted - axes.used(axis), 0, lanes);
    axes.give(layout.lanes, axis, along);
    lanes -= along;
    if (lanes > 0) continue;
    const int more = std::clamp(wanted - axes.used(axis), 0, warp_bits);
    axes.give(layout.warps, axis, more);
    warp_bits -= more;
  }
  layout.lanes.resize(Layout::kLaneBits);
  layout.warps.resize(size_t(log2_floor(warps)));
  axes.cover(tile);
  return layout;
}

Layout spread(const Layout& warp, const Type& tile, int64_t warps_m, int64_t warps_n) {
  Layout layout = warp;
  for (const auto& [axis, warps] : {std::pair(0, warps_m), std::pair(1, warps_n)}) {
    const int first = log2_floor(warp.block(axis));
    for (int i = 0; i < log2_floor(warps); ++i) layout.warps.push_back({int8_t(axis), int8_t(first + i)});
  }
  Axes(layout).cover(tile);
  return layout;
}

Layout fma_accumulator(const Type& tile, int64_t warps_m, int64_t warps_n) {
  const Layout warp{.rank = 2,
                    .registers = {{1, 0}, {1, 1}},
                    .lanes = {{1, 2}, {1, 3}, {1, 4}, {0, 0}, {0, 1}},
                    .warps = {}};
  return spread(warp, tile, warps_m, warps_n);
}

std::string to_string(const Layout& layout) {
  std::string text;
  const auto bits = [&](const char* name, const std::vector<Bit>& list) {
    text += name;
    for (const Bit& bit : list)
      text += bit.axis < 0 ? std::string(" -") : fmt::format(" {}.{}", bit.axis, bit.shift);
  };
  bits("registers", layout.registers);
  bits(" lanes", layout.lanes);
  bits(" warps", layout.warps);
  text += " repeat";
  for (int axis = 0; axis < layout.rank; ++axis) text += fmt::format(" {}", layout.repeat[size_t(axis)]);
  return text;
}

}  // namespace heddle::ir
