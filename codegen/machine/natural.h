// Which layout suits each tile best, decided from anchors: dots and wide memory accesses. Must not know LLVM.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "codegen/ir/ir.h"

namespace heddle::codegen {

class NaturalLayouts {
 public:
  // `sm`: compute capability, by which dots are computed in one way or another.
  NaturalLayouts(const ir::Function& function, int64_t warps, int sm)
      : function_(function), warps_(warps), sm_(sm) {}

  // Nothing for tiles that are as cheap in any layout: constants, index arithmetic, stretched tiles.
  std::optional<ir::Layout> of(const ir::Value* tile);
  // of(), or the layout of a plain copy of such a tile.
  ir::Layout or_blocked(const ir::Value* tile);
  // Of what `store` or `store_view` writes.
  ir::Layout of_stored(const ir::Op& store);
  // The layout it is worth moving that into first: where of_stored() would write parts of sectors, and the
  // other whole ones, with fewer stores. Nothing elsewhere.
  std::optional<ir::Layout> coalesced(const ir::Op& store);
  ir::Layout accumulator(const ir::Op& dot) const;

 private:
  std::optional<ir::Layout> compute(const ir::Value* tile);
  std::optional<ir::Layout> of_state(const ir::Op& op, size_t index);
  std::optional<ir::Layout> of_operands(const ir::Op& op);

  const ir::Function& function_;
  const int64_t warps_;
  const int sm_;
  std::unordered_map<const ir::Value*, std::optional<ir::Layout>> known_;
  std::unordered_set<const ir::Op*> open_;  // loops and branches being looked at
};

// Warps for a kernel whose schedule leaves them open: the tile of a dot is shared out in parts of 64 x 64,
// other tiles in 32 elements a thread, or 16 where each may have an address of its own, or fewer where so
// many tiles live at once that 48 registers would not hold them.
int64_t default_warps(const ir::Function& function);

// CTAs on a multiprocessor to allot registers for: one where a dot's accumulator wants them all, else as many
// as leave each thread those that its share of live tiles takes and 32 more, or 5 an element where elements
// have addresses (docs/performance.md).
int64_t default_ctas(const ir::Function& function, int64_t warps);

}  // namespace heddle::codegen
