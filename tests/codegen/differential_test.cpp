// Random programs, interpreted and compiled: equal bits in memory, guard pages around it untouched.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>

#include "codegen/ir/error.h"
#include "codegen/ir/print.h"
#include "codegen/passes/canonicalise.h"
#include "codegen/passes/expand_math.h"
#include "codegen/passes/promote_variables.h"
#include "tests/support/random_ir.h"

namespace heddle::test {
namespace {

// As lower() leaves a kernel; one program in four is compiled as it was written, which canonical form would
// never show.
std::unique_ptr<ir::Function> lowered(const ir::Function& function, uint64_t seed) {
  auto result = ir::clone(function);
  codegen::promote_variables(*result);
  if (seed % 4) codegen::canonicalise(*result);
  codegen::expand_math(*result);
  if (seed % 4) codegen::canonicalise(*result);
  return result;
}

std::string complaint(const ir::Function& function, const std::vector<HostArgument>& arguments,
                      uint64_t seed) {
  try {
    return host_difference(*lowered(function, seed), arguments,
                           {.seed = seed, .worker = 3, .processor = int(seed / 4 % 4)});
  } catch (const Error& error) {
    return error.what();
  }
}

// The complaint, with the smallest program that has one.
std::string report(uint64_t seed) {
  const RandomProgram program = random_program(seed);
  const auto complaint_of = [&](const ir::Function& function) {
    return complaint(function, program.arguments, seed);
  };
  const std::string found = complaint_of(*program.function);
  if (found.empty()) return {};
  const auto smallest = minimise(
      *program.function, [&](const ir::Function& candidate) { return !complaint_of(candidate).empty(); });
  return fmt::format("HEDDLE_SEED={} HEDDLE_PROGRAMS=1: {}\nsmallest: {}\n{}", seed, found,
                     complaint_of(*smallest), ir::print(*lowered(*smallest, seed)));
}

}  // namespace

TEST_CASE("random programs give equal bits interpreted and compiled") {
  const Seeds seeds = seeds_to_run(1, 90);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) CHECK(report(seed) == "");
}

}  // namespace heddle::test
