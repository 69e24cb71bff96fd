// lower_schedule: every tile is computed exactly once, by the worker that the order says.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "codegen/interpret/interpret.h"
#include "codegen/ir/builder.h"
#include "codegen/ir/error.h"
#include "codegen/schedule/index.h"
#include "codegen/schedule/lower.h"

namespace heddle::codegen {
namespace {

using ir::Builder;
using ir::Opcode;
using ir::Type;
using ir::Value;

// out[tile] += 1 and by[tile] = worker, for 1x..x1 tiles over the extents of `out`.
std::unique_ptr<ir::Function> counting_kernel(int rank) {
  auto function = std::make_unique<ir::Function>();
  function->name = "count";
  const Type view{.kind = Type::Kind::view, .element = DType::i64, .rank = uint8_t(rank)};
  Value* out = function->add_parameter(view, false).value;
  Value* by = function->add_parameter(view, false).value;
  Builder build(*function, function->body);
  std::vector<Value*> extents;
  std::vector<ir::Extent> ones(size_t(rank), {.value = 1});
  for (int axis = 0; axis < rank; ++axis)
    extents.push_back(build.value(Opcode::view_extent, {out}, {{.value = axis}}));
  ir::Op* tile =
      build.emit(Opcode::tile_id, extents, ones, std::vector<Type>(size_t(rank), Type::scalar(DType::i64)));
  std::vector<Value*> access = {out};
  for (Value* offset : tile->results) access.push_back(offset);
  Value* old = build.emit(Opcode::load_view, access, {{.value = 0}}, {Type::scalar(DType::i64)})->result();
  auto store = [&](Value* view_value, Value* value) {
    std::vector<Value*> operands = {view_value, value};
    for (Value* offset : tile->results) operands.push_back(offset);
    build.emit(Opcode::store_view, operands);
  };
  store(out, build.value(Opcode::add, {old, build.index(1)}));
  store(by, build.value(Opcode::worker_id, {}));
  return function;
}

// Slots of two row-major views of `extents`.
std::vector<int64_t> slots_of(std::vector<int64_t>& out, std::vector<int64_t>& by,
                              const std::vector<int64_t>& extents) {
  std::vector<int64_t> slots;
  for (std::vector<int64_t>* memory : {&out, &by}) {
    slots.push_back(reinterpret_cast<int64_t>(memory->data()));
    slots.insert(slots.end(), extents.begin(), extents.end());
    for (size_t i = 0; i < extents.size(); ++i) {
      int64_t stride = 1;
      for (size_t j = i + 1; j < extents.size(); ++j) stride *= extents[j];
      slots.push_back(stride);
    }
  }
  return slots;
}

// The tile that the grouped order takes `ordinal`-th in an M x N plane, by walking it.
std::pair<int64_t, int64_t> walk_grouped(int64_t ordinal, int64_t m_count, int64_t n_count, int64_t group) {
  for (int64_t first = 0; first < m_count; first += group)
    for (int64_t n = 0; n < n_count; ++n)
      for (int64_t m = first; m < std::min(first + group, m_count); ++m)
        if (ordinal-- == 0) return {m, n};
  return {-1, -1};
}

}  // namespace

TEST_CASE("every tile exactly once, in the order asked for, for each work, order and worker count") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    const int rank = 1 + round % 3;
    std::vector<int64_t> extents;
    int64_t tiles = 1;
    for (int axis = 0; axis < rank; ++axis) tiles *= extents.emplace_back(1 + random() % 9);
    Schedule schedule;
    const bool is_grouped = rank > 1 && round % 2;
    if (is_grouped) schedule.order = grouped{int64_t(1 + random() % 10)};
    const bool is_persistent = round % 4 < 2;
    const int64_t workers = is_persistent ? std::min<int64_t>(tiles, 1 + random() % 12) : tiles;
    if (is_persistent) schedule.work = persistent{.workers = workers};

    const auto kernel = counting_kernel(rank);
    check_schedule(*kernel, schedule, Target::cpu, {});
    const auto lowered = lower_schedule(*kernel, schedule);
    std::vector<int64_t> out(size_t(tiles), 0), by(size_t(tiles), -1);
    const std::vector<int64_t> slots = slots_of(out, by, extents);
    const int64_t work[kWorkParamCount] = {workers, 1, 1, 1, schedule.order.size};
    for (int64_t worker = 0; worker < workers; ++worker) interpret(*lowered, slots.data(), work, worker);

    for (int64_t ordinal = 0; ordinal < tiles; ++ordinal) {
      int64_t place = ordinal;
      if (is_grouped) {
        const int64_t m = extents[size_t(rank - 2)], n = extents[size_t(rank - 1)];
        const auto [row, column] = walk_grouped(ordinal % (m * n), m, n, schedule.order.size);
        place = ordinal / (m * n) * (m * n) + row * n + column;
      }
      CHECK(out[size_t(place)] == 1);
      CHECK(by[size_t(place)] == (is_persistent ? ordinal % workers : ordinal));
    }
  }
}

namespace {

std::string refusal(const ir::Function& function, const Schedule& schedule) {
  try {
    check_schedule(function, schedule, Target::cpu, {"here.cpp", 3});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::schedule);
    return error.message();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("what can't be honoured is refused by name") {
  const auto plane = counting_kernel(2), line = counting_kernel(1);
  CHECK(refusal(*plane, {.work = split_k{.parts = 2}}).find("work=split_k") != std::string::npos);
  CHECK(refusal(*plane, {.work = stream_k{}}).find("work=stream_k") != std::string::npos);
  CHECK(refusal(*plane, {.work = persistent{.dynamic = true}}).find("persistent{dynamic}") !=
        std::string::npos);
  CHECK(refusal(*plane, {.order = serpentine{}}).find("order=serpentine") != std::string::npos);
  CHECK(refusal(*plane, {.order = hilbert{}}).find("order=hilbert") != std::string::npos);
  CHECK(refusal(*plane, {.loads = {.stages = 3}}).find("loads, which is for GPUs alone") !=
        std::string::npos);
  CHECK(refusal(*plane, {.warps = uniform{.warps = 4}}).find("warps, which is for GPUs alone") !=
        std::string::npos);
  CHECK(refusal(*plane, {.warps = warp_specialize{}}).find("warps=warp_specialize") != std::string::npos);
  CHECK(refusal(*plane, {.cluster = {.m = 2}}).find("cluster") != std::string::npos);
  CHECK(refusal(*plane, {.epilogue = {.subtile = 32}}).find("epilogue") != std::string::npos);
  CHECK(refusal(*plane, {.swap_ab = true}).find("swap_ab") != std::string::npos);
  CHECK(refusal(*plane, {.pdl = true}).find("pdl") != std::string::npos);
  CHECK(refusal(*plane, {.numerics = chunks(2)}).find("numerics=chunks") != std::string::npos);
  CHECK(refusal(*line, {.order = grouped{4}}).find("two axes") != std::string::npos);
  CHECK(refusal(*plane, {.order = grouped{0}}).find("a group of 0") != std::string::npos);
  CHECK(refusal(*plane, {.work = persistent{}, .order = grouped{2}, .numerics = linear}) == "(accepted)");
}

TEST_CASE("a schedule filled in by hand with what no choice has is refused, not ignored") {
  const auto plane = counting_kernel(2);
  const auto refused = [&](auto fill) {
    Schedule schedule;
    fill(schedule);
    return refusal(*plane, schedule);
  };
  CHECK(refused([](Schedule&) {}) == "(accepted)");
  CHECK(refused([](Schedule& s) { s.work.workers = 4; }).find("belong to another choice") !=
        std::string::npos);
  CHECK(refused([](Schedule& s) { s.order.size = 4; }).find("belong to another choice") != std::string::npos);
  CHECK(refused([](Schedule& s) { s.numerics.count = 2; }).find("belong to another choice") !=
        std::string::npos);
  CHECK(refused([](Schedule& s) { s.work.kind = Work::Kind(77); }).find("'?' is no value of work") !=
        std::string::npos);
  CHECK(refused([](Schedule& s) { s.order.kind = Order::Kind(9); }).find("'?' is no value of order") !=
        std::string::npos);
  CHECK(refused([](Schedule& s) { s.numerics.kind = Numerics::Kind(9); }).find("'?' is no value of") !=
        std::string::npos);
}

TEST_CASE("a group of any size takes every tile once") {
  const std::vector<int64_t> extents = {3, 5, 4};
  for (const int64_t size : {int64_t(5), int64_t(6), int64_t(1) << 61, int64_t(1) << 62, INT64_MAX}) {
    CAPTURE(size);
    const Schedule schedule{.order = grouped{size}};
    const auto traced = TracedKernel::analyse(counting_kernel(3));
    const auto lowered = lower(*traced, schedule, Target::cpu, {});
    std::vector<int64_t> out(60, 0), by(60, -1);
    const std::vector<int64_t> slots = slots_of(out, by, extents);
    const int first[] = {0, 7};
    const int64_t grid[] = {1, 1, 1};
    const WorkCount work = count_work(*traced, schedule, {slots.data(), first}, grid, false,
                                      {.target = Target::cpu, .concurrency = 2}, {});
    CHECK(work.workers == 60);
    for (int64_t worker = 0; worker < 60; ++worker) interpret(*lowered, slots.data(), work.params, worker);
    CHECK(std::count(out.begin(), out.end(), 1) == 60);
  }
}

TEST_CASE("extents of a work space are computed from arguments before the launch") {
  ir::Function function;
  Value* n = function.add_parameter(Type::scalar(DType::i64), false).value;
  Value* view =
      function.add_parameter({.kind = Type::Kind::view, .element = DType::f32, .rank = 2}, true).value;
  Builder build(function, function.body);
  Value* rows = build.value(Opcode::view_extent, {view}, {{.value = 0}});
  Value* stride = build.value(Opcode::view_stride, {view}, {{.value = 1}});
  Value* both =
      build.value(Opcode::max, {build.value(Opcode::mul, {rows, n}), build.value(Opcode::neg, {stride})});
  Value* loaded =
      build.emit(Opcode::load_view, {view, n, n}, {{.value = 0}}, {Type::scalar(DType::f32)})->result();
  const int64_t slots[] = {3, 0, 7, 5, 5, -100};
  const int first[] = {0, 1};
  CHECK(evaluate_index(function, both, {slots, first}) == 100);
  CHECK(evaluate_index(function, rows, {slots, first}) == 7);
  CHECK(evaluate_index(function, build.cast(loaded, DType::i64), {slots, first}) == std::nullopt);
}

}  // namespace heddle::codegen
