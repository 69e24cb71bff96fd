// From a kernel to its machine program, PTX and ptxas's report, without a GPU.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/ir/ir.h"
#include "codegen/ir/schedule.h"
#include "codegen/machine/lower.h"
#include "runtime/arguments.h"
#include "runtime/launch.h"

namespace heddle::test {

// Row-major, aligned arguments for all of the kernel's parameters: unit stride along the last axis.
std::unique_ptr<ir::Function> scheduled(const runtime::KernelSource& source, const Schedule& schedule,
                                        const std::vector<runtime::ArgumentFacts>& facts);

// Arguments for a kernel's parameters that nothing will read: views of `extent` along each axis in memory
// that is aligned to 16 bytes.
struct Arguments {
  enum class Order { row_major, column_major };  // the axis of stride 1: the last one, or the first
  int64_t extent = 4096;
  int64_t gap = 0;              // elements between rows; an odd number makes them unaligned
  std::vector<Order> orders{};  // of the first arguments; the others are row-major
};
runtime::PackedArguments pack(const runtime::KernelSource& source, const Arguments& arguments);

// What a launch on a GPU that runs 132 CTAs at once would choose.
Schedule schedule_by_rule(const runtime::KernelSource& source, const runtime::PackedArguments& arguments);

// The ptxas that the library would take, else the one that tools/setup.sh brought; empty: there is none.
std::string find_ptxas();

// What ptxas says of `ptx` for "sm_90": its report, or the reason why it refused.
struct PtxasResult {
  bool found = false;  // a ptxas was there to ask
  bool accepted = false;
  std::string output;
};
PtxasResult ptxas(const std::string& ptx, const std::string& architecture);

// Whether the ptxas that was found assembles for `architecture`.
bool ptxas_knows(const std::string& architecture);

}  // namespace heddle::test
