// What an assembler says of a kernel it assembled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::runtime::cuda {

// -1: it did not say.
struct AssemblyReport {
  int registers = -1;                // of a thread
  int64_t stack_bytes = -1;          // of a thread, in local memory
  int64_t spill_store_bytes = -1;    // of registers that did not suffice: moved to local memory by the
  int64_t spill_load_bytes = -1;     // instructions of the code, and back
  int64_t shared_bytes = -1;         // of a CTA, besides what a launch adds
  std::vector<std::string> remarks;  // its warnings, and what it did otherwise than it was told
};

// Reads the output of `ptxas -v`, or the driver's log, for the kernel `entry`.
AssemblyReport read_assembly_report(std::string_view log, std::string_view entry);

}  // namespace heddle::runtime::cuda
