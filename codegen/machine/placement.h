// Where a tile's elements go in shared memory: the pitch, the fast axis and the swizzle that make its
// accesses take the fewest passes over the banks.
#pragma once

#include <functional>
#include <vector>

#include "codegen/machine/shared_memory.h"

namespace heddle::codegen {

// What will be done with a buffer, if it lies as a candidate does.
using AccessesOf = std::function<std::vector<SharedAccess>(const BufferLayout& candidate)>;

// `axes` are the candidates for the fast axis, the preferred ones first. Of what is equally fast, the
// smallest is taken, then the plainest.
BufferLayout place(const ir::Type& tile, const std::vector<int>& axes, const AccessesOf& accesses);

// How a dot reads an operand from a buffer whose axis `k_axis` is its K, of `extent` steps: for
// `instruction`, or where that is null, for chains of fma.
std::vector<SharedAccess> dot_reads(const BufferLayout& memory, const MmaInstruction* instruction, int k_axis,
                                    int64_t extent, const ir::Layout& accumulator);

}  // namespace heddle::codegen
