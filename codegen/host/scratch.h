// Where tiles live: the layout of one in memory, and the allocator that lays out a worker's scratch memory at
// compile time. Must not know LLVM.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codegen/ir/type.h"

namespace heddle::codegen::host {

inline constexpr int64_t kScratchAlign = 64;

// The start of scratch memory: room for the lanes of one vector, and for their offsets, while single lanes
// are looked at. At most 64 lanes of 8 bytes each.
inline constexpr int64_t kLanesSlot = 0, kOffsetsSlot = 512, kReservedScratch = 1024;

// A tile in scratch memory: row-major. The innermost axis of extent above 1 is contiguous, its rows padded so
// that whole vectors fit; what the padding holds means nothing. Axes of extent 1 have pitch 0.
struct Tile {
  int64_t offset = -1;  // bytes from the start of scratch
  int64_t bytes = 0;
  int element_bytes = 0;
  int inner = -1;                                // the contiguous axis; -1: a single element
  std::array<int64_t, ir::kMaxRank> pitch = {};  // elements

  bool allocated() const { return offset >= 0; }
};

// The layout for a type; not yet allocated. Pointers take 8 bytes.
Tile tile_layout(const ir::Type& type);

int64_t power_of_two_at_least(int64_t value);
int64_t round_up(int64_t value, int64_t unit);

// First fit, lowest address first: the same calls give the same layout.
class ScratchAllocator {
 public:
  int64_t take(int64_t bytes);
  void give(int64_t offset, int64_t bytes);
  int64_t high_water() const { return high_water_; }

 private:
  struct Hole {
    int64_t offset, bytes;
  };
  std::vector<Hole> holes_;  // sorted, not adjacent
  int64_t end_ = kReservedScratch, high_water_ = kReservedScratch;
};

}  // namespace heddle::codegen::host
