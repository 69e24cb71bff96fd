// Shared memory, from its description alone: tiles come back in another layout as they went in, fragments are
// those of the instruction's manual, conflicts predicted are conflicts counted.
#include "codegen/machine/shared_memory.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "codegen/machine/placement.h"

using namespace heddle;
using namespace heddle::codegen;
using ir::Layout;
using ir::Type;

namespace {

Type tile(DType element, std::initializer_list<int64_t> extents) {
  Type type{.kind = Type::Kind::data, .element = element};
  for (const int64_t extent : extents) type.extents[size_t(type.rank++)].value = extent;
  return type;
}

ir::Coordinates sum(const ir::Coordinates& a, const ir::Coordinates& b) {
  ir::Coordinates result{};
  for (size_t i = 0; i < result.size(); ++i) result[i] = a[i] + b[i];
  return result;
}

bool takes_part(const SharedAccess& access, int64_t thread) {
  for (const Guard& guard : access.guards)
    if (guard.value.of(thread) >= guard.limit) return false;
  return true;
}

// Calls visit(thread, register, byte) for each register that the accesses move.
template <class Visit>
void each_register(const BufferLayout& memory, const Layout& layout, AccessKind kind, Visit&& visit) {
  const TileAccess access = tile_access(memory, layout, kind);
  for (int64_t thread = 0; thread < layout.threads(); ++thread)
    for (size_t i = 0; i < access.accesses.size(); ++i) {
      if (!takes_part(access.accesses[i], thread)) continue;
      for (int64_t r = 0; r < access.width; ++r)
        visit(thread, int64_t(i) * access.width + r,
              access.accesses[i].address.of(thread) + r * memory.element_bytes);
    }
}

// Passes over the banks, counted plainly: for each phase, the most different words that one bank is asked
// for.
int counted_passes(const WarpAccess& access) {
  const int phases = access.bytes == 16 ? 4 : access.bytes == 8 ? 2 : 1;
  int passes = 0;
  for (int phase = 0; phase < phases; ++phase) {
    std::map<int64_t, std::set<int64_t>> words;
    for (int lane = phase * 32 / phases; lane < (phase + 1) * 32 / phases; ++lane)
      if (access.address[size_t(lane)])
        for (int64_t byte = 0; byte < access.bytes; ++byte) {
          const int64_t word = (*access.address[size_t(lane)] + byte) / 4;
          words[word % 32].insert(word);
        }
    size_t most = 0;
    for (const auto& [bank, different] : words) most = std::max(most, different.size());
    passes += int(most);
  }
  return passes;
}

BufferLayout placed(const Type& type, const Layout& from, const Layout& to) {
  return place(type, {1, 0}, [&](const BufferLayout& candidate) {
    std::vector<SharedAccess> all = tile_access(candidate, from, AccessKind::store).accesses;
    for (SharedAccess& read : tile_access(candidate, to, AccessKind::load).accesses)
      all.push_back(std::move(read));
    return all;
  });
}

}  // namespace

TEST_CASE("any tile stored in one layout is loaded in another as it was") {
  std::mt19937 random(11);
  constexpr DType kTypes[] = {DType::i8, DType::bf16, DType::f32, DType::f64};
  for (int i = 0; i < 300; ++i) {
    const auto extent = [&] { return int64_t(1 + random() % (random() % 3 ? 24 : 130)); };
    const Type type = tile(kTypes[random() % 4], {extent(), extent()});
    const int64_t warps = int64_t(1) << random() % 3;
    const auto layout = [&] {
      const int64_t warps_m = random() % 2 ? warps : 1;
      switch (random() % 4) {
        case 0: return ir::spread(mma_instructions()[0].c, type, warps_m, warps / warps_m);
        case 1: return ir::fma_accumulator(type, warps_m, warps / warps_m);
        default: return blocked(type, int(random() % 2), int64_t(1) << random() % 4, warps);
      }
    };
    const Layout from = layout(), to = layout();
    const BufferLayout memory = placed(type, from, to);
    CAPTURE(i);
    std::map<int64_t, ir::Coordinates> stored;  // by byte
    each_register(memory, from, AccessKind::store, [&](int64_t thread, int64_t r, int64_t byte) {
      REQUIRE((byte >= 0 && byte + memory.element_bytes <= memory.slot_bytes));
      const ir::Coordinates at = sum(from.of_thread(thread), from.of_register(r));
      const auto [found, fresh] = stored.emplace(byte, at);
      REQUIRE((fresh || found->second == at));
    });
    REQUIRE(int64_t(stored.size()) >= type.count());
    each_register(memory, to, AccessKind::load, [&](int64_t thread, int64_t r, int64_t byte) {
      const ir::Coordinates at = sum(to.of_thread(thread), to.of_register(r));
      if (at[0] < type.extents[0].value && at[1] < type.extents[1].value) REQUIRE(stored.at(byte) == at);
    });
  }
}

// Operands of fma: every thread finds what it multiplies, in block after block of K.
TEST_CASE("chains of fma read each step of K from where its block's addresses lead") {
  int by_xor = 0;
  for (const DType element : {DType::i8, DType::bf16, DType::f32, DType::f64})
    for (const int64_t k_extent : {5, 8, 16, 24, 32, 64})
      for (const int64_t outer_extent : {20, 64})
        for (const int fast : {0, 1}) {
          CAPTURE(k_extent);
          CAPTURE(outer_extent);
          CAPTURE(fast);
          const Layout accumulator = ir::fma_accumulator(tile(DType::f32, {64, outer_extent}), 2, 2);
          Type type = tile(element, {k_extent, accumulator.covered(1)});
          const auto reads = [&](const BufferLayout& memory) {
            std::vector<SharedAccess> all;
            for (int64_t k = 0; k < k_extent; k += chain_steps(memory, 0))
              for (ColumnLoad& load : column_loads(memory, 0, accumulator, k))
                all.push_back(std::move(load.access));
            return all;
          };
          const BufferLayout memory = place(type, {fast}, reads);
          const BufferLayout rows(tile(element, {64, k_extent}), k_extent * size_bytes(element), 1, {});
          const int64_t block = chain_block(rows, memory, k_extent);
          const bool flips = memory.swizzle.bits && memory.has_own_bits(0);
          by_xor += flips && block < k_extent;
          REQUIRE(k_extent % block == 0);
          for (int64_t k = 0; k < k_extent; k += chain_steps(memory, 0)) {
            const int64_t first = k / block * block * memory.stride[0];
            const auto loads = column_loads(memory, 0, accumulator, k);
            const auto in_block = column_loads(memory, 0, accumulator, k % block);
            REQUIRE(loads.size() == in_block.size());
            for (size_t i = 0; i < loads.size(); ++i)
              for (int64_t thread = 0; thread < accumulator.threads(); ++thread) {
                const int64_t byte = loads[i].access.address.of(thread);
                const int64_t near = in_block[i].access.address.of(thread);
                REQUIRE(byte == (flips ? near ^ memory.swizzle(first) : near + first));
                const int64_t column = accumulator.of_thread(thread)[1] + loads[i].at;
                for (int64_t e = 0; e < loads[i].elements; ++e)
                  for (int64_t step = 0; step < loads[i].steps; ++step)
                    REQUIRE(byte + (e + step) * memory.element_bytes ==
                            memory.swizzle((k + step) * memory.stride[0] + (column + e) * memory.stride[1]));
              }
          }
        }
  CHECK(by_xor > 0);
}

// On the way from the tensor cores to global memory.
TEST_CASE("accumulators cross shared memory to rows without a bank conflict") {
  for (const DType element : {DType::bf16, DType::f16})
    for (const int64_t rows : {64, 128, 256})
      for (const int64_t columns : {64, 128, 256}) {
        CAPTURE(rows);
        CAPTURE(columns);
        const Type type = tile(element, {rows, columns});
        const Layout from = ir::spread(mma_instructions()[0].c, type, 2, 2), to = blocked(type, 1, 8, 4);
        const BufferLayout memory = placed(type, from, to);
        CHECK(memory.slot_bytes == 2 * rows * columns);
        for (const auto& [layout, kind, bytes] :
             {std::tuple(from, AccessKind::store, 4), std::tuple(to, AccessKind::load, 16)})
          for (const SharedAccess& access : tile_access(memory, layout, kind).accesses) {
            CHECK(access.bytes == bytes);
            for (int64_t warp = 0; warp < 4; ++warp)
              CHECK(bank_passes(access.of_warp(warp)).conflicts() == 0);
          }
      }
}

TEST_CASE("predicted bank conflicts are those that are counted") {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    WarpAccess access{.bytes = int64_t(1) << random() % 5, .address = {}};
    const int64_t step = access.bytes * int64_t(1 + random() % 40);
    for (int64_t lane = 0; lane < 32; ++lane)
      if (random() % 8)
        access.address[size_t(lane)] = random() % 3 ? lane * step : access.bytes * int64_t(random() % 200);
    CHECK(bank_passes(access).taken == counted_passes(access));
  }
}
