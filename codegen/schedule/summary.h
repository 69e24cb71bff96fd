// What launches ask of a traced kernel again and again, found once: where its work comes from, and what it
// does with its dims.
#pragma once

#include <vector>

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// What a kernel does with one dim: later kinds win over earlier ones.
struct DimRole {
  enum Kind { unused, block_inner, block_outer, cover, dot_m, dot_n, dot_k } kind = unused;
  const ir::Op* where = nullptr;  // the op that decided
};

// An axis of a view that a tile starts at 0 of: one tile must hold all of it.
struct CoveredAxis {
  const ir::Value* view;
  int axis;
};

struct DimSummary {
  const char* name;  // interned
  DimRole role;
  std::vector<CoveredAxis> covered;  // where its role is cover, else empty
  // The extents that the dim walks along, an axis of the work space or a loop in steps of it; the first that
  // a launch can evaluate counts.
  std::vector<const ir::Value*> walked;
};

struct KernelSummary {
  const ir::Op* work_space = nullptr;  // the tile_id, or null
  const ir::Op* program_id = nullptr;  // the first, or null
  std::vector<DimSummary> dims;        // by dim of the function
};

// Of canonical tile IR. Throws Error (trace) where there are several tile_ids.
KernelSummary summarise(const ir::Function& function);

}  // namespace heddle::codegen
