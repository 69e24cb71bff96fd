// Random programs: well typed IR as a tracer might record it, with arguments to run it on, and a way to cut a
// program that misbehaves down to what matters.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "codegen/ir/ir.h"
#include "tests/support/host_check.h"

namespace heddle::test {

struct RandomProgram {
  std::unique_ptr<ir::Function> function;  // at the traced level: it holds variables
  std::vector<HostArgument> arguments;
};

// The same program for the same seed, whatever the compiler. All ops of ops.def but tile_id and program_id,
// every element type, loops and branches up to three deep. What the language leaves open is avoided: lanes of
// one store that overlap, a NaN's bits, addresses outside of memory. So is what canonicalise rounds
// differently by design: adding a dot that starts at 0.
RandomProgram random_program(uint64_t seed);

// The smallest program found for which `fails` still holds, by dropping ops or putting constants in their
// place.
std::unique_ptr<ir::Function> minimise(const ir::Function& function,
                                       const std::function<bool(const ir::Function&)>& fails);

// Which seeds a test runs: HEDDLE_PROGRAMS (how many) and HEDDLE_SEED (the first) from the environment, where
// set.
struct Seeds {
  uint64_t first, count;
};
Seeds seeds_to_run(uint64_t first, uint64_t count);

}  // namespace heddle::test
