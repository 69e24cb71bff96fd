// The tensor cores' instructions: the table's layouts are the manual's, written here a second time as its
// formulas; and what lies in shared memory comes to the registers that they name.
#include "codegen/machine/mma.h"

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "codegen/machine/placement.h"

using namespace heddle;
using namespace heddle::codegen;
using ir::Layout;
using ir::Type;

namespace {

struct Place {
  int64_t row, column;
  friend bool operator==(const Place&, const Place&) = default;
};

// Element i of a lane's fragment (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and
// its neighbours).
struct Manual {
  int64_t m, n, k;
  int64_t a_count, b_count, c_count;  // elements a lane holds
  Place (*a)(int64_t group, int64_t in_group, int64_t i);
  Place (*b)(int64_t group, int64_t in_group, int64_t i);
  Place (*c)(int64_t group, int64_t in_group, int64_t i);
};

Place c_of_16x8(int64_t group, int64_t in_group, int64_t i) {
  return {i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
}

const Manual k16Bits{.m = 16,
                     .n = 8,
                     .k = 16,
                     .a_count = 8,
                     .b_count = 4,
                     .c_count = 4,
                     .a =
                         [](int64_t group, int64_t in_group, int64_t i) {
                           const bool upper = (0 <= i && i < 2) || (4 <= i && i < 6);
                           return Place{upper ? group : group + 8, in_group * 2 + (i & 1) + (i < 4 ? 0 : 8)};
                         },
                     .b = [](int64_t group, int64_t in_group,
                             int64_t i) { return Place{in_group * 2 + (i & 1) + (i < 2 ? 0 : 8), group}; },
                     .c = c_of_16x8};

const Manual k8Bits{.m = 16,
                    .n = 8,
                    .k = 32,
                    .a_count = 16,
                    .b_count = 8,
                    .c_count = 4,
                    .a =
                        [](int64_t group, int64_t in_group, int64_t i) {
                          const bool upper = (0 <= i && i < 4) || (8 <= i && i < 12);
                          return Place{upper ? group : group + 8, in_group * 4 + (i & 3) + (i < 8 ? 0 : 16)};
                        },
                    .b = [](int64_t group, int64_t in_group,
                            int64_t i) { return Place{in_group * 4 + (i & 3) + (i < 4 ? 0 : 16), group}; },
                    .c = c_of_16x8};

const Manual& manual(const MmaInstruction& instruction) {
  const std::string name = instruction.name;
  if (name == "m16n8k16.row.col.f32.f16.f16.f32" || name == "m16n8k16.row.col.f32.bf16.bf16.f32")
    return k16Bits;
  if (name == "m16n8k32.row.col.s32.s8.s8.s32") return k8Bits;
  FAIL("no formulas for ", name);
  return k16Bits;
}

Type tile(DType element, int64_t rows, int64_t columns) {
  Type type{.kind = Type::Kind::data, .element = element, .rank = 2};
  type.extents[0].value = rows;
  type.extents[1].value = columns;
  return type;
}

void check_fragment(const Layout& layout, int64_t rows, int64_t columns, int64_t count,
                    Place (*expected)(int64_t, int64_t, int64_t)) {
  CHECK(layout.block(0) == rows);
  CHECK(layout.block(1) == columns);
  REQUIRE(layout.register_count() == count);
  std::map<std::pair<int64_t, int64_t>, int> times;
  for (int64_t lane = 0; lane < 32; ++lane)
    for (int64_t i = 0; i < count; ++i) {
      const ir::Coordinates thread = layout.of_thread(lane), own = layout.of_register(i);
      const Place found{thread[0] + own[0], thread[1] + own[1]};
      CHECK(found == expected(lane / 4, lane % 4, i));
      ++times[{found.row, found.column}];
    }
  CHECK(int64_t(times.size()) == rows * columns);
  for (const auto& [place, held] : times) CHECK(held == 1);
}

bool takes_part(const SharedAccess& access, int64_t thread) {
  for (const Guard& guard : access.guards)
    if (guard.value.of(thread) >= guard.limit) return false;
  return true;
}

// The byte where each element of `lane`'s registers comes from, in their order.
std::vector<int64_t> sources(const Fragments& fragments, const std::vector<SharedAccess>& loads, int64_t warp,
                             int64_t lane, int64_t element_bytes) {
  std::vector<int64_t> bytes;
  for (const SharedAccess& load : loads) {
    if (!fragments.by_matrices()) {
      bytes.push_back(load.address.of(warp * 32 + lane));
      continue;
    }
    for (int64_t matrix = 0; matrix < load.lanes / 8; ++matrix) {
      const auto row = [&](int64_t i) { return load.address.of(warp * 32 + matrix * 8 + i); };
      for (int64_t i = 0; i < 4 / element_bytes; ++i)
        bytes.push_back(fragments.transposed() ? row(lane % 4 * 2 + i) + lane / 4 * 2
                                               : row(lane / 4) + lane % 4 * 4 + i * element_bytes);
    }
  }
  return bytes;
}

struct Case {
  const MmaInstruction& instruction;
  int64_t outer_extent, k_extent;
  int k_axis, fast;
  int64_t warps;
};

// What copies put into a buffer is found again in the registers where the manual draws it. What is moved in
// 16 bytes has no bank conflict.
void check_operand(const Case& c) {
  const int outer = 1 - c.k_axis;
  const Manual& expected = manual(c.instruction);
  const DType element = c.instruction.operand;
  const int64_t element_bytes = size_bytes(element), piece = 16 / element_bytes;
  CAPTURE(std::string(c.instruction.name));
  CAPTURE(c.k_extent);
  CAPTURE(c.outer_extent);
  CAPTURE(c.k_axis);
  CAPTURE(c.fast);
  const Type type =
      c.k_axis == 1 ? tile(element, c.outer_extent, c.k_extent) : tile(element, c.k_extent, c.outer_extent);
  const Type result =
      c.k_axis == 1 ? tile(DType::f32, c.outer_extent, 128) : tile(DType::f32, 128, c.outer_extent);
  const Layout accumulator = ir::spread(c.instruction.c, result, 2, c.warps / 2);
  const BufferLayout memory = place(type, {c.fast}, [&](const BufferLayout& candidate) {
    std::vector<SharedAccess> all = dot_reads(candidate, &c.instruction, c.k_axis, c.k_extent, accumulator);
    for (CopyTurn& turn : copy_turns(candidate, c.warps * 32)) all.push_back(std::move(turn.to));
    return all;
  });
  std::map<int64_t, ir::Coordinates> held;  // by byte
  for (const CopyTurn& turn : copy_turns(memory, c.warps * 32)) {
    for (int64_t warp = 0; warp < c.warps; ++warp) CHECK(bank_passes(turn.to.of_warp(warp)).conflicts() == 0);
    for (int64_t thread = 0; thread < c.warps * 32; ++thread) {
      if (!takes_part(turn.to, thread)) continue;
      for (int64_t i = 0; i < piece; ++i) {
        ir::Coordinates at{};
        at[size_t(c.fast)] = turn.column.of(thread) + i;
        at[size_t(1 - c.fast)] = turn.row.of(thread);
        REQUIRE(held.emplace(turn.to.address.of(thread) + element_bytes * i, at).second);
      }
    }
  }
  REQUIRE(int64_t(held.size()) == c.k_extent * c.outer_extent);

  const Fragments fragments(memory, c.instruction, c.k_axis, accumulator);
  CHECK(fragments.transposed() == (c.fast != c.k_axis));
  CHECK(fragments.by_matrices() == (element_bytes == 2 || (element_bytes < 8 && c.fast == c.k_axis)));
  const int64_t blocks = accumulator.repeat[size_t(outer)];
  const int64_t count = c.k_axis == 1 ? expected.a_count : expected.b_count;
  for (int64_t k = 0; k < c.k_extent; k += c.instruction.k()) {
    const std::vector<SharedAccess> loads = fragments.loads(k);
    for (int64_t warp = 0; warp < c.warps; ++warp) {
      if (fragments.by_matrices())
        for (const SharedAccess& load : loads) CHECK(bank_passes(load.of_warp(warp)).conflicts() == 0);
      const int64_t first = thread_coordinate(accumulator, outer, /*warps_only=*/true).of(warp * 32);
      for (int64_t lane = 0; lane < 32; ++lane) {
        const std::vector<int64_t> bytes = sources(fragments, loads, warp, lane, element_bytes);
        REQUIRE(int64_t(bytes.size()) == blocks * count);
        for (int64_t i = 0; i < blocks * count; ++i) {
          const Place in_block = (c.k_axis == 1 ? expected.a : expected.b)(lane / 4, lane % 4, i % count);
          ir::Coordinates due{in_block.row, in_block.column};
          due[size_t(outer)] += first + i / count * accumulator.block(outer);
          due[size_t(c.k_axis)] += k;
          REQUIRE(held.at(bytes[size_t(i)]) == due);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("fragments are laid out as the PTX manual draws them, each element once") {
  for (const MmaInstruction& instruction : mma_instructions()) {
    CAPTURE(std::string(instruction.name));
    const Manual& expected = manual(instruction);
    CHECK(instruction.m() == expected.m);
    CHECK(instruction.n() == expected.n);
    CHECK(instruction.k() == expected.k);
    check_fragment(instruction.a, expected.m, expected.k, expected.a_count, expected.a);
    check_fragment(instruction.b, expected.k, expected.n, expected.b_count, expected.b);
    check_fragment(instruction.c, expected.m, expected.n, expected.c_count, expected.c);
  }
}

TEST_CASE("copies and fragments agree") {
  for (const MmaInstruction& instruction : mma_instructions())
    for (const int64_t k_steps : {1, 2, 4, 8})
      for (const int64_t outer_extent : {64, 128, 256})
        for (const int k_axis : {0, 1})
          for (const int fast : {0, 1})
            for (const int64_t warps : {4, 8})
              check_operand({instruction, outer_extent, k_steps * instruction.k(), k_axis, fast, warps});
}

TEST_CASE("words of fragments hold neighbours along K, and what other warps share along the other axis") {
  for (const MmaInstruction& instruction : mma_instructions())
    for (const int k_axis : {0, 1}) {
      const Layout accumulator = ir::spread(instruction.c, tile(DType::f32, 128, 128), 2, 2);
      const Layout fragment = instruction.fragment(k_axis),
                   words = fragment_words(instruction, k_axis, accumulator);
      const int64_t in_word = 4 / size_bytes(instruction.operand);
      const size_t k = size_t(k_axis), outer = 1 - k;
      CHECK(words.covered(int(outer)) == 128);
      CHECK(words.covered(k_axis) == instruction.k() / in_word);
      for (int64_t thread = 0; thread < 128; ++thread) {
        const ir::Coordinates own = words.of_thread(thread), lane = fragment.of_thread(thread % 32),
                              result = accumulator.of_thread(thread / 32 * 32);
        CHECK(own[outer] == lane[outer] + result[outer]);
        CHECK(own[k] * in_word == lane[k]);
      }
      for (int64_t word = 0; word < fragment.register_count() / in_word; ++word)
        for (int64_t i = 0; i < in_word; ++i) {
          const ir::Coordinates element = fragment.of_register(word * in_word + i),
                                of_word = words.of_register(word);
          CHECK(element[outer] == of_word[outer]);
          CHECK(element[k] == of_word[k] * in_word + i);
        }
    }
}
