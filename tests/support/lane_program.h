// Lane by lane ops as compiled code: arrays of lanes in, arrays of lanes out.
#pragma once

#include <string>
#include <vector>

#include "codegen/host/cpu.h"
#include "codegen/ir/dtype.h"
#include "codegen/ir/lane.h"

namespace heddle::test {

// `op` of the inputs with these numbers.
struct LaneOp {
  std::string op;
  std::vector<int> operands;
  DType result;
};

// Results of each op on `inputs`, which have `count` lanes each, compiled for `cpu`. Functions like exp are
// expanded.
std::vector<std::vector<ir::Lane>> run_compiled(const std::vector<DType>& types,
                                                const std::vector<std::vector<ir::Lane>>& inputs,
                                                const std::vector<LaneOp>& ops,
                                                const codegen::host::Cpu& cpu);

// This processor, and the plainest of its architecture, for which much is emitted that others have
// instructions for.
std::vector<const codegen::host::Cpu*> best_and_plainest_cpu();

}  // namespace heddle::test
