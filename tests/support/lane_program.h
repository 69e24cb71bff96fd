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

using LaneLists = std::vector<std::vector<ir::Lane>>;

// Results of each op on `inputs`, all of one length, compiled for `cpu`. Functions like exp are
// expanded.
LaneLists run_compiled(const std::vector<DType>& types, const LaneLists& inputs,
                       const std::vector<LaneOp>& ops, const codegen::host::Cpu& cpu);
// The same by the interpreter.
LaneLists run_interpreted(const std::vector<DType>& types, const LaneLists& inputs,
                          const std::vector<LaneOp>& ops);

// This processor, and the plainest of its architecture, for which much is emitted that others have
// instructions for.
std::vector<const codegen::host::Cpu*> best_and_plainest_cpu();

}  // namespace heddle::test
