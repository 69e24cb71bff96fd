// docs/ir.md against the op table and the parser: its rows are the table's, its example parses, prints and
// runs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "codegen/interpret/interpret.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"

using namespace heddle;
using namespace heddle::ir;

namespace {

std::vector<std::string> page() {
  std::ifstream file(HEDDLE_SOURCE_DIR "/docs/ir.md");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string example() {
  std::string text;
  bool inside = false;
  for (const std::string& line : page()) {
    if (inside && line == "```") break;
    if (inside) text += line + "\n";
    inside = inside || line == "```heddle";
  }
  return text;
}

std::string range(int least, int most) {
  if (most < 0) return fmt::format("{} or more", least);
  return least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most);
}

// "| cell | cell " with an empty cell as "| ".
std::string cells(const std::vector<std::string>& contents) {
  std::string text;
  for (const std::string& cell : contents) text += cell.empty() ? "| " : "| " + cell + " ";
  return text;
}

// What follows the first cell of the op's row, as far as the table settles it.
std::string columns(Opcode code) {
  const OpInfo& row = info(code);
  if (row.elementwise) {
    constexpr const char* kDomains[] = {"number", "integer", "floating", "single", "bits", "any"};
    return cells({fmt::format("{}", row.min_operands), kDomains[int(row.domain)],
                  row.boolean_result ? "boolean" : "same", row.commutative ? "commutative" : ""}) +
           "|";
  }
  constexpr const char* kEffects[] = {"pure", "read", "write", "control", "ordered"};
  return cells({range(row.min_operands, row.max_operands),
                row.results < 0 ? "any" : fmt::format("{}", row.results), fmt::format("{}", row.regions),
                row.attributes, kEffects[int(row.effect)]});
}

}  // namespace

TEST_CASE("each op of the table has its row in docs/ir.md, and each row's ops are in the table") {
  const std::vector<std::string> lines = page();
  const auto begin = std::ranges::find(lines, "## Operations"),
             end = std::ranges::find(lines, "## Regions, loops, variables");
  REQUIRE(begin < end);
  for (int i = 0; i < kOpcodeCount; ++i) {
    const std::string name = fmt::format("`{}`", info(Opcode(i)).name);
    int rows = 0;
    for (auto line = begin; line != end; ++line) {
      const size_t first_end = line->find(" | ");
      if (!line->starts_with("| `") || line->substr(0, first_end).find(name) == std::string::npos) continue;
      ++rows;
      INFO(fmt::format("the row of {} should begin with {}", name, columns(Opcode(i))));
      CHECK(line->substr(first_end + 1).starts_with(columns(Opcode(i))));
    }
    INFO(fmt::format("docs/ir.md needs one row for {}, which goes on {}", name, columns(Opcode(i))));
    CHECK(rows == 1);
  }
  int named = 0;
  for (auto line = begin; line != end; ++line) {
    if (!line->starts_with("| `")) continue;
    const std::string first = line->substr(0, line->find(" | "));
    named += int(std::ranges::count(first, '`')) / 2;
  }
  CHECK(named == kOpcodeCount);
}

TEST_CASE("the example of docs/ir.md reads, prints so that it reads back, and does what the page says") {
  const std::string text = example();
  const auto function = parse(text);
  CHECK(!find_fault(*function, Level::tile).has_value());
  CHECK(find_fault(*function, Level::scheduled).has_value());  // it has a tile_id
  const std::string printed = print(*function);
  CHECK(print(*parse(printed)) == printed);

  constexpr int64_t kRows = 6, kColumns = 100;
  std::vector<float> in(kRows * kColumns), out(in.size());
  for (size_t i = 0; i < in.size(); ++i) in[i] = float(i % 37) + 1;
  const int64_t slots[] = {int64_t(in.data()), kRows,    kColumns, kColumns, 1, int64_t(out.data()), kRows,
                           kColumns,           kColumns, 1,        kColumns};
  codegen::interpret_all(*function, slots);
  for (int64_t row = 0; row < kRows; ++row) {
    const auto first = in.begin() + row * kColumns;
    const float largest = *std::max_element(first, first + kColumns);
    int wrong = 0;
    for (int64_t column = 0; column < kColumns; ++column)
      wrong += out[size_t(row * kColumns + column)] != first[column] / largest;
    CHECK(wrong == 0);
  }
}
