// How a tile is spread over the registers, lanes and warps of a CTA.
//
// A layout is linear over F2 with a plain repeat (design of Triton's linear layouts, arXiv:2505.23819): every
// bit of a register's, lane's or warp's number moves one coordinate by a power of two, or moves nothing (then
// both its values hold copies). The block that those bits span is repeated, in further registers, until it
// covers the tile; coordinates at or beyond the tile's extent are padding and hold nothing that matters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ir/type.h"

namespace heddle::ir {

using Coordinates = std::array<int64_t, kMaxRank>;

struct Layout {
  // A hardware bit moves `axis` by 2^shift; axis -1 moves nothing.
  struct Bit {
    int8_t axis = -1;
    int8_t shift = 0;
    friend bool operator==(const Bit&, const Bit&) = default;
  };
  static constexpr int kLaneBits = 5;

  int rank = 0;
  std::vector<Bit> registers, lanes, warps;  // lowest bit first; five lanes
  std::array<int64_t, kMaxRank> repeat{1, 1, 1, 1, 1};

  friend bool operator==(const Layout&, const Layout&) = default;

  int64_t block(int axis) const;    // extent that the bits span along an axis
  int64_t covered(int axis) const;  // block * repeat
  int64_t register_count() const;   // of one thread
  int64_t threads() const { return int64_t(1) << (lanes.size() + warps.size()); }

  // What register `index` adds to a thread's coordinates. Registers are numbered with the bits fastest, then
  // the last axis's repeats.
  Coordinates of_register(int64_t index) const;
  // What a thread adds.
  Coordinates of_thread(int64_t thread) const;
  // The register that holds what of_register() says, or -1.
  int64_t find_register(const Coordinates& offset) const;
  // Whether a bit of lanes or warps holds copies.
  bool has_copies() const;
  // Neighbouring elements along `axis` that one thread holds in neighbouring registers: 2^k.
  int64_t vector(int axis) const;
};

// Neighbouring elements along `axis` that lanes of one warp hold, `vector` neighbours each.
int64_t run_of_lanes(const Layout& layout, int axis, int64_t vector);

// `layout` without `axis`'s bits: of what is constant along the axis (a reduction's result, an operand about
// to be broadcast).
Layout collapsed(const Layout& layout, int axis);
Layout with_axis(const Layout& layout, int axis);     // for a new axis of extent 1
Layout without_axis(const Layout& layout, int axis);  // of an axis of extent 1
Layout transposed(const Layout& layout);              // last two axes swapped

// For memory: `vector` neighbours along `fast` a thread, then lanes and warps along it, then along the
// other axes, last ones first. Padding is at most an eighth along an axis that is longer than one block,
// where the extent allows. `warps` is a power of two.
Layout blocked(const Type& tile, int fast, int64_t vector, int64_t warps);

// A tile of rank 2 from what one warp holds at a time: `warps_m` x `warps_n` warps side by side, that block
// repeated. The numbers of warps are powers of two.
Layout spread(const Layout& warp, const Type& tile, int64_t warps_m, int64_t warps_n);

// For dots computed by fma: each thread has runs of `vector` columns; lanes 4 x 8.
Layout fma_accumulator(const Type& tile, int64_t warps_m, int64_t warps_n);

// "registers 1.0 1.1 0.3 lanes 1.1 1.2 0.0 0.1 0.2 warps 0.4 - repeat 1 4": bits as axis.shift, lowest first.
std::string to_string(const Layout& layout);

}  // namespace heddle::ir
