// PTX to cubin, through the cache, by ptxas or by the driver's own assembler
// (docs/decisions/which-assembler.md).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cache.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/ptxas.h"
#include "runtime/launch.h"

namespace heddle::runtime::cuda {

struct Assembler {
  std::string name{};  // in cache keys and reports: "ptxas 13.0.88", "driver 12.8"
  std::string path{};  // of ptxas; empty: it is the driver's
  bool named = false;  // by HEDDLE_PTXAS
};

// Which assemblers to try, in this order, and a sentence that says why.
struct AssemblerChoice {
  std::vector<Assembler> order;
  std::string why;
};
// The rule, a pure function: the ptxas that HEDDLE_PTXAS names; else the newer one of the ptxas that was
// found and the driver's, the driver's where they are equal. A driver loads what its own major version of
// CUDA and those before have made, so a ptxas of a later one is not used.
AssemblerChoice choose_assembler(const PtxasSearch& search, const PtxasVersion& ptxas, int driver_version);

struct Assembled {
  std::shared_ptr<const Entry> entry;  // "cubin", and "log": what the assembler said
  std::string by;                      // the Assembler's name
  CacheOutcome outcome;
};

// `load` is given what the first assembler made that could, and is asked again, with another's, where it
// throws Error (unsupported). Throws Error where nothing was made that loads.
void assemble(const KernelSource& source, const std::string& ptx, const DeviceInfo& device, Location where,
              const std::function<void(const Assembled&)>& load);

// What must be assembled for: the device's architecture, or the one that PTX for features of a single
// architecture names ("sm_90a").
std::string architecture_of(const std::string& ptx, int sm);

}  // namespace heddle::runtime::cuda
