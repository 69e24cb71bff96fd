// From a kernel to its machine program, PTX and ptxas's report, without a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/ir/ir.h"
#include "codegen/ir/schedule.h"
#include "codegen/machine/lower.h"
#include "runtime/launch.h"

namespace heddle::test {

// Row-major, aligned arguments for all of the kernel's parameters: unit stride along the last axis.
std::unique_ptr<ir::Function> scheduled(const runtime::KernelSource& source, const Schedule& schedule,
                                        const std::vector<runtime::ArgumentFacts>& facts);

// What ptxas says of `ptx` for "sm_90": its report, or the reason why it refused.
struct PtxasResult {
  bool found = false;  // a ptxas was there to ask
  bool accepted = false;
  std::string output;
};
PtxasResult ptxas(const std::string& ptx, const std::string& architecture);

}  // namespace heddle::test
