// Layouts: every element has its place, and what follows from a layout agrees with it, element by element.
#include "codegen/ir/layout.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "codegen/ir/error.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"

using namespace heddle;
using namespace heddle::ir;

namespace {

// 16 x 8 in a warp.
const Layout kWarp{
    .rank = 2, .registers = {{1, 0}, {0, 3}}, .lanes = {{1, 1}, {1, 2}, {0, 0}, {0, 1}, {0, 2}}, .warps = {}};

Type tile(std::initializer_list<int64_t> extents) {
  Type type{.kind = Type::Kind::data};
  for (const int64_t extent : extents) type.extents[type.rank++].value = extent;
  return type;
}

Coordinates sum(const Coordinates& a, const Coordinates& b) {
  Coordinates result{};
  for (size_t i = 0; i < result.size(); ++i) result[i] = a[i] + b[i];
  return result;
}

// How many (thread, register) hold each coordinate.
std::map<Coordinates, int> holders(const Layout& layout) {
  std::map<Coordinates, int> count;
  for (int64_t thread = 0; thread < layout.threads(); ++thread)
    for (int64_t r = 0; r < layout.register_count(); ++r)
      ++count[sum(layout.of_thread(thread), layout.of_register(r))];
  return count;
}

// Each coordinate below `covered` is there, as often as there are copies, and nothing else.
void check_covers(const Layout& layout, const Type& type) {
  INFO(to_string(layout));
  int64_t elements = 1;
  for (int axis = 0; axis < layout.rank; ++axis) {
    CHECK(layout.covered(axis) >= type.extents[size_t(axis)].value);
    elements *= layout.covered(axis);
  }
  const auto count = holders(layout);
  CHECK(int64_t(count.size()) == elements);
  const int64_t copies = layout.threads() * layout.register_count() / elements;
  for (const auto& [at, held] : count) REQUIRE(held == copies);
  CHECK(layout.has_copies() == (copies > 1));
  for (int64_t r = 0; r < layout.register_count(); ++r)
    REQUIRE(layout.find_register(layout.of_register(r)) == r);
}

}  // namespace

TEST_CASE("blocked layouts cover tiles of any extents, with little padding") {
  std::mt19937 random(7);
  for (int i = 0; i < 120; ++i) {
    const auto extent = [&] { return int64_t(1 + random() % (random() % 3 ? 40 : 300)); };
    const Type type = i % 2 ? tile({extent(), extent()}) : tile({extent()});
    const int64_t vector = int64_t(1) << random() % 4, warps = int64_t(1) << random() % 4;
    const int fast = int(random() % type.rank);
    const Layout layout = blocked(type, fast, vector, warps);
    check_covers(layout, type);
    for (int axis = 0; axis < type.rank; ++axis) {
      const int64_t padded = layout.covered(axis) - type.extents[size_t(axis)].value;
      CHECK(8 * padded <= type.extents[size_t(axis)].value);
    }
    CHECK(layout.vector(fast) <= vector);
  }
}

TEST_CASE("a thread of a blocked layout holds neighbours, and its warp's lanes go on where it ends") {
  const Layout layout = blocked(tile({16, 256}), 1, 8, 4);
  CHECK(layout.vector(1) == 8);
  CHECK(layout.of_thread(1) == Coordinates{0, 8});
  CHECK(layout.of_thread(31) == Coordinates{0, 248});
  CHECK(layout.of_thread(32) == Coordinates{1, 0});
  CHECK(layout.repeat[0] == 4);
}

TEST_CASE("accumulators cover tiles of any extents") {
  for (const int64_t m : {16, 48, 128})
    for (const int64_t n : {8, 24, 192}) {
      check_covers(spread(kWarp, tile({m, n}), 1, 2), tile({m, n}));
      check_covers(fma_accumulator(tile({m, n}), 2, 1), tile({m, n}));
    }
}

TEST_CASE("layouts of reduced, widened and transposed tiles follow element by element") {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const Type type = tile({int64_t(1 + random() % 70), int64_t(1 + random() % 70)});
    const Layout layout =
        i % 3 ? blocked(type, int(random() % 2), int64_t(1) << random() % 3, 4) : spread(kWarp, type, 2, 2);
    const Layout swapped = transposed(layout);
    for (int64_t thread = 0; thread < layout.threads(); thread += 5) {
      const Coordinates from = layout.of_thread(thread), to = swapped.of_thread(thread);
      CHECK((from[0] == to[1] && from[1] == to[0]));
    }
    const int axis = int(random() % 2);
    Type row = type;
    row.extents[size_t(axis)].value = 1;
    const Layout reduced = collapsed(layout, axis);
    check_covers(reduced, row);
    for (int64_t thread = 0; thread < layout.threads(); thread += 3) {
      Coordinates expected = layout.of_thread(thread);
      expected[size_t(axis)] = 0;
      CHECK(reduced.of_thread(thread) == expected);
    }
    CHECK(without_axis(with_axis(layout, 1), 1) == layout);
  }
}

TEST_CASE("a machine program's text reads back, layouts and all") {
  constexpr std::string_view kText =
      R"(kernel @copy(%0: view<bf16, 2> const unit(1) aligned, %1: view<bf16, 2> unit(1) aligned) dims(d0 = 64) warps 1 ctas 2 shared 5120 {
  layout 0 = registers 1.0 1.1 1.2 lanes 1.3 1.4 1.5 0.0 0.1 warps repeat 16 1
  %2 = constant 0 : i64
  %3 = shared_buffer {offset = 0, slots = 1, pitch = 128, fast = 1, swizzle = 3, to = 4, from = 7} : shared<bf16, 32, 64>
  copy_async %0, %3, %2, %2, %2 {rows = 32, columns = 64, swapped = 0}
  commit_copies
  wait_copies {pending = 0}
  barrier
  %4 = load_shared %3, %2 : tile<bf16, 64, d0>#0
  store_view %1, %4, %2, %2
}
)";
  CHECK(print(*parse(kText)) == kText);
  std::string broken(kText);
  broken.replace(broken.find("#0"), 2, "#1");
  CHECK_THROWS_WITH_AS(parse(broken), doctest::Contains("there is no layout 1"), Error);
  broken = kText;
  broken.replace(broken.find("1.5 0.0 0.1"), 11, "1.5 0.0");
  CHECK_THROWS_WITH_AS(parse(broken), doctest::Contains("lanes have five bits"), Error);
}
