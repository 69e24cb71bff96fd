#include "codegen/machine/placement.h"

#include <algorithm>
#include <optional>

namespace heddle::codegen {

namespace {

// The swizzles of rows of 128 bytes and more: within the lines of the 32 banks, by bits from above them.
std::vector<Swizzle> swizzles(int64_t slot_bytes) {
  constexpr int kLineBits = 7;
  std::vector<Swizzle> all{{}};
  // Granules of 16 bytes first, which leave every access as wide as it is.
  for (const int to : {4, 5, 6, 3, 2})
    for (int bits = 1; to + bits <= kLineBits; ++bits)
      for (int from = kLineBits; int64_t(1) << from < slot_bytes; ++from)
        all.push_back({.bits = bits, .to = to, .from = from});
  return all;
}

// Passes over the banks of the first warp, for at most so many accesses, evenly chosen: what differs from
// access to access is mostly a constant, which moves all banks alike.
constexpr size_t kLooks = 24;

struct Cost {
  double passes = 0;
  bool least = true;  // no conflict
};

Cost cost_of(const std::vector<SharedAccess>& accesses) {
  Cost cost;
  const size_t looks = std::min(accesses.size(), kLooks);
  for (size_t i = 0; i < looks; ++i) {
    const BankPasses passes = bank_passes(accesses[i * accesses.size() / looks].of_warp(0));
    cost.passes += passes.taken;
    cost.least = cost.least && passes.conflicts() == 0;
  }
  cost.passes *= double(accesses.size()) / double(looks);
  return cost;
}

}  // namespace

BufferLayout place(const ir::Type& tile, const std::vector<int>& axes, const AccessesOf& accesses) {
  std::optional<BufferLayout> best;
  double least = 0;
  // Accesses without a conflict may still be more in number than others: axes are compared by passes.
  for (const int fast : axes) {
    const int64_t row = tile.extents[size_t(fast)].value * size_bytes(tile.element);
    const int64_t pitch = (row + 15) / 16 * 16;
    const auto consider = [&](const BufferLayout& candidate) {
      const std::vector<SharedAccess> all = accesses(candidate);
      // A swizzle moves granules; what an access wants in one piece must be in one.
      if (std::any_of(all.begin(), all.end(),
                      [&](const SharedAccess& access) { return access.bytes > candidate.swizzle.granule(); }))
        return false;
      const Cost cost = cost_of(all);
      if (!best || cost.passes < least) {
        best = candidate;
        least = cost.passes;
      }
      return cost.least && candidate.swizzle.granule() == 16;
    };
    const BufferLayout tight(tile, pitch, fast, {});
    const std::vector<Swizzle> all = swizzles(tight.slot_bytes);
    if (std::any_of(all.begin(), all.end(), [&](const Swizzle& swizzle) {
          return consider(BufferLayout(tile, pitch, fast, swizzle));
        }))
      continue;
    for (const int64_t padding : {16, 32, 64})
      if (consider(BufferLayout(tile, pitch + padding, fast, {}))) break;
  }
  return *best;
}

std::vector<SharedAccess> dot_reads(const BufferLayout& memory, const MmaInstruction* instruction, int k_axis,
                                    int64_t extent, const ir::Layout& accumulator) {
  std::vector<SharedAccess> all;
  if (instruction) {
    const Fragments fragments(memory, *instruction, k_axis, accumulator);
    for (int64_t k = 0; k < extent; k += instruction->k())
      for (SharedAccess& load : fragments.loads(k)) all.push_back(std::move(load));
  } else {
    for (int64_t k = 0; k < extent; k += chain_steps(memory, k_axis))
      for (ColumnLoad& load : column_loads(memory, k_axis, accumulator, k))
        all.push_back(std::move(load.access));
  }
  return all;
}

}  // namespace heddle::codegen
