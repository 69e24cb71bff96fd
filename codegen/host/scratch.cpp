#include "codegen/host/scratch.h"

#include <algorithm>
#include <bit>

#include "codegen/ir/dtype.h"

namespace heddle::codegen::host {

int64_t power_of_two_at_least(int64_t value) {
  return int64_t(std::bit_ceil(uint64_t(value)));
}

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Tile tile_layout(const ir::Type& type) {
  Tile tile;
  tile.element_bytes = type.kind == ir::Type::Kind::pointer ? 8 : size_bytes(type.element);
  int64_t pitch = 1;
  for (int axis = type.rank - 1; axis >= 0; --axis) {
    const int64_t extent = type.extents[axis].value;
    if (extent == 1) continue;
    tile.pitch[axis] = pitch;
    if (tile.inner < 0) {
      tile.inner = axis;
      // The widest vectors: a register full of elements, or of 16 indices or addresses in two registers.
      const int64_t widest = std::max<int64_t>(kScratchAlign / tile.element_bytes, 16);
      pitch = round_up(extent, std::min(widest, power_of_two_at_least(extent)));
    } else {
      pitch *= extent;
    }
  }
  tile.bytes = round_up(pitch * tile.element_bytes, kScratchAlign);
  return tile;
}

int64_t ScratchAllocator::take(int64_t bytes) {
  bytes = round_up(bytes, kScratchAlign);
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->bytes < bytes) continue;
    const int64_t offset = hole->offset;
    hole->offset += bytes;
    hole->bytes -= bytes;
    if (hole->bytes == 0) holes_.erase(hole);
    return offset;
  }
  // The last hole may reach to the end: grow it instead of leaving it.
  int64_t offset = end_;
  if (!holes_.empty() && holes_.back().offset + holes_.back().bytes == end_) {
    offset = holes_.back().offset;
    holes_.pop_back();
  }
  end_ = offset + bytes;
  high_water_ = std::max(high_water_, end_);
  return offset;
}

void ScratchAllocator::give(int64_t offset, int64_t bytes) {
  bytes = round_up(bytes, kScratchAlign);
  auto next =
      std::find_if(holes_.begin(), holes_.end(), [&](const Hole& hole) { return hole.offset > offset; });
  next = holes_.insert(next, {offset, bytes});
  if (auto after = next + 1; after != holes_.end() && next->offset + next->bytes == after->offset) {
    next->bytes += after->bytes;
    next = holes_.erase(after) - 1;
  }
  if (next != holes_.begin())
    if (auto before = next - 1; before->offset + before->bytes == next->offset) {
      before->bytes += next->bytes;
      holes_.erase(next);
    }
}

}  // namespace heddle::codegen::host
