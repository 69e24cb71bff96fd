// Random programs, interpreted and compiled for CPUs and for a GPU: equal bits in memory, guards around it
// untouched. HEDDLE_PROGRAMS and HEDDLE_SEED say how many and which.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <string>

#include "codegen/ir/error.h"
#include "codegen/ir/print.h"
#include "codegen/passes/canonicalise.h"
#include "codegen/passes/expand_math.h"
#include "codegen/passes/promote_variables.h"
#include "tests/support/gpu_check.h"
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

using Complaint =
    std::function<std::string(const ir::Function& lowered, const RandomProgram&, uint64_t seed)>;

std::string on_cpu(const ir::Function& function, const RandomProgram& program, uint64_t seed) {
  return host_difference(function, program.arguments,
                         {.seed = seed, .worker = 3, .processor = int(seed / 4 % 4)});
}
std::string for_gpu(const ir::Function& function, const RandomProgram&, uint64_t) {
  return gpu_refusal(function);
}
std::string on_gpu(const ir::Function& function, const RandomProgram& program, uint64_t seed) {
  return gpu_difference(function, program.arguments, {.seed = seed});
}

// The complaint about the program of that seed, with the smallest program that has one.
std::string report(uint64_t seed, const Complaint& complaint) {
  const RandomProgram program = random_program(seed);
  const auto complaint_of = [&](const ir::Function& function) -> std::string {
    try {
      return complaint(*lowered(function, seed), program, seed);
    } catch (const Error& error) {
      return error.what();
    }
  };
  const std::string found = complaint_of(*program.function);
  if (found.empty()) return {};
  const auto smallest = minimise(
      *program.function, [&](const ir::Function& candidate) { return !complaint_of(candidate).empty(); });
  return fmt::format("HEDDLE_SEED={} HEDDLE_PROGRAMS=1: {}\nsmallest: {}\n{}", seed, found,
                     complaint_of(*smallest), ir::print(*lowered(*smallest, seed)));
}

void check_programs(const Seeds& seeds, const Complaint& complaint) {
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed)
    CHECK(report(seed, complaint) == "");
}

}  // namespace

TEST_CASE("random programs give equal bits interpreted and compiled") {
  check_programs(seeds_to_run(1, 90), on_cpu);
}

TEST_CASE("random programs compile for a GPU") {
  check_programs(seeds_to_run(1, 60), for_gpu);
}

TEST_CASE("random programs give equal bits interpreted and on a GPU") {
  if (!has_gpu()) {
    MESSAGE("no GPU here: nothing is run");
    return;
  }
  check_programs(seeds_to_run(1, 120), on_gpu);
}

}  // namespace heddle::test
