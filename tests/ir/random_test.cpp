// Random programs: the text reads back as itself; promotion and canonical form keep every bit of what a
// program does to memory (any NaN for any NaN), and a canonical program stays as it is.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>

#include "codegen/ir/error.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/passes/canonicalise.h"
#include "codegen/passes/promote_variables.h"
#include "codegen/passes/remove_dead.h"
#include "tests/support/random_ir.h"

namespace heddle::test {
namespace {

// Moves pure ops of each region upwards, to another order that their operands allow.
void shuffle(ir::Region& region, std::mt19937_64& random) {
  for (size_t i = 1; i < region.ops.size(); ++i)
    for (size_t at = i; at > 0 && random() % 4; --at) {
      ir::Op *before = region.ops[at - 1], *op = region.ops[at];
      const auto uses = [&](const ir::Value* value) { return value->definition == before; };
      if (ir::info(op->code).effect != ir::Effect::pure ||
          std::any_of(op->operands.begin(), op->operands.end(), uses))
        break;
      std::swap(region.ops[at - 1], region.ops[at]);
    }
  for (const ir::Op* op : region.ops)
    for (ir::Region* inner : op->regions) shuffle(*inner, random);
}

// What is wrong with a program, or "".
std::string complaint(const ir::Function& function, const std::vector<HostArgument>& arguments,
                      uint64_t seed) {
  const HostCheckOptions options{.seed = seed, .worker = 3};
  try {
    const std::string text = ir::print(function);
    if (ir::print(*ir::parse(text)) != text) return "the text reads back as something else";
    ir::verify(function);
    const auto promoted = ir::clone(function);
    codegen::promote_variables(*promoted);
    ir::verify(*promoted, ir::Level::tile);
    if (std::string found = interpreted_difference(function, *promoted, arguments, options); !found.empty())
      return "promote_variables: " + found;
    const auto pruned = ir::clone(*promoted);
    codegen::remove_dead(*pruned);
    ir::verify(*pruned, ir::Level::tile);
    if (codegen::remove_dead(*pruned)) return "remove_dead leaves something dead";
    if (std::string found = interpreted_difference(function, *pruned, arguments, options); !found.empty())
      return "remove_dead: " + found;
    const auto canonical = ir::clone(*promoted);
    codegen::canonicalise(*canonical);
    ir::verify(*canonical, ir::Level::tile);
    if (std::string found = interpreted_difference(function, *canonical, arguments, options); !found.empty())
      return "canonicalise: " + found;
    const auto again = ir::clone(*canonical);
    codegen::canonicalise(*again);
    if (ir::print(*again) != ir::print(*canonical)) return "canonicalise changes what is canonical";
    const auto shuffled = ir::clone(*promoted);
    std::mt19937_64 random(seed);
    shuffle(shuffled->body, random);
    ir::verify(*shuffled, ir::Level::tile);
    codegen::canonicalise(*shuffled);
    if (ir::print(*shuffled) != ir::print(*canonical))
      return "canonical form depends on the order of independent ops:\n" + ir::print(*canonical) +
             ir::print(*shuffled);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
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
                     complaint_of(*smallest), ir::print(*smallest));
}

}  // namespace

TEST_CASE("random programs print, parse, and mean the same in canonical form") {
  const Seeds seeds = seeds_to_run(1, 400);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) CHECK(report(seed) == "");
}

}  // namespace heddle::test
