// What the ops that move or combine lanes of whole tiles compute, over row-major vectors of lanes. Pure
// functions of types and lanes; the interpreter's work on memory and control is not known here.
#pragma once

#include <vector>

#include "codegen/ir/ir.h"
#include "codegen/ir/lane.h"

namespace heddle::codegen {

using Lanes = std::vector<ir::Lane>;

// The lane of `from` that each lane of `to` repeats: `from` is a scalar, or has extents 1 where `to` has
// more.
Lanes broadcast(const Lanes& lanes, const ir::Type& from, const ir::Type& to);
Lanes transpose(const Lanes& lanes, const ir::Type& from);  // swaps the last two axes
Lanes reduce(Lanes lanes, const ir::Type& from, ir::ReduceKind kind, int axis);
// a[M,K], b[K,N], c[M,N] → one chain of fma in K order per element, from c, in the accumulator's type.
Lanes dot(const Lanes& a, const Lanes& b, const Lanes& c, const ir::Type& a_type, const ir::Type& b_type);

// Calls visit(lane, index) for every index of a tile's extents, in row-major order.
template <class Visit>
void for_each_index(const ir::Type& type, Visit&& visit) {
  std::array<int64_t, ir::kMaxRank> index{};
  const int64_t count = type.count();
  for (int64_t lane = 0; lane < count; ++lane) {
    visit(lane, index);
    for (int axis = type.rank - 1; axis >= 0 && ++index[axis] == type.extents[axis].value; --axis)
      index[axis] = 0;
  }
}

}  // namespace heddle::codegen
