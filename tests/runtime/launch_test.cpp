// launch(): arguments checked before anything runs, variants made once, zero-sized work, many threads at
// once. Kernels are built as IR here, so that nothing of the DSL is needed.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "codegen/ir/builder.h"
#include "codegen/ir/error.h"
#include "runtime/launch.h"
#include "runtime/log.h"
#include "tests/support/log_capture.h"

namespace heddle::runtime {
namespace {

using ir::Builder;
using ir::Opcode;
using ir::Type;
using ir::Value;

std::atomic<int> traces{0};

// out[i] += step, in tiles of 16, over the extent of `out`.
ir::Function* trace_increment(const KernelSource& source, const TraceRequest& request) {
  ++traces;
  auto* function = new ir::Function;
  function->name = source.name;
  ir::Facts facts;
  if (request.facts) facts.unit_stride_axis = request.facts[0].unit_stride_axis;
  Value* out =
      function->add_parameter({.kind = Type::Kind::view, .element = DType::f32, .rank = 1}, false, facts)
          .value;
  Value* step = function->add_parameter(Type::scalar(DType::f32), false).value;
  Builder build(*function, function->body);
  build.where = source.where;
  Value* extent = build.value(Opcode::view_extent, {out}, {{.value = 0}});
  Value* offset =
      build.emit(Opcode::tile_id, {extent}, {{.value = 16}}, {Type::scalar(DType::i64)})->result();
  const Type tile{.kind = Type::Kind::data, .element = DType::f32, .rank = 1, .extents = {{{.value = 16}}}};
  Value* old = build.emit(Opcode::load_view, {out, offset}, {{.value = 0}}, {tile})->result();
  build.emit(Opcode::store_view, {out, build.value(Opcode::add, {old, build.broadcast(step, tile)}), offset});
  return function;
}

// Owns what Kernel owns.
struct TestKernel {
  KernelSource source{
      .name = "increment", .where = {"kernel.cpp", 7}, .body = nullptr, .trace = trace_increment};
  KernelState* state = nullptr;
  ~TestKernel() { destroy(state); }

  void run(Stream& stream, const Argument& view, float step, const Schedule* schedule = nullptr,
           Grid grid = {}) {
    Argument scalar;
    std::memcpy(&scalar.bits, &step, sizeof step);
    const Argument arguments[] = {view, scalar};
    launch(source, state, schedule, grid, stream, arguments, 2, {"caller.cpp", 11});
  }
  std::string complaint(Stream& stream, const Argument& view, Grid grid = {}) {
    try {
      run(stream, view, 1, nullptr, grid);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::launch);
      CHECK(std::string(error.where().file) == "caller.cpp");
      return error.message();
    }
    return "(accepted)";
  }
};

Argument view_of(float* data, int64_t extent, int64_t stride = 1) {
  Argument view;
  view.kind = Argument::Kind::view;
  view.rank = 1;
  view.bits = reinterpret_cast<uint64_t>(data);
  view.extents[0] = extent;
  view.strides[0] = stride;
  return view;
}

}  // namespace

TEST_CASE("both devices run every element once and touch nothing else") {
  for (Device device : {Device::cpu(), Device::interpreter()})
    for (int64_t n : {1, 15, 16, 17, 1000}) {
      TestKernel kernel;
      Stream stream(device, 3);
      std::vector<float> memory(size_t(n) + 32, 5.0f);
      kernel.run(stream, view_of(memory.data() + 16, n), 2.0f);
      for (size_t i = 0; i < memory.size(); ++i)
        CHECK(memory[i] == (i >= 16 && i < size_t(n) + 16 ? 7.0f : 5.0f));
    }
}

TEST_CASE("strides of any sign") {
  TestKernel kernel;
  Stream stream(Device::cpu());
  std::vector<float> memory(300, 0.0f);
  kernel.run(stream, view_of(memory.data(), 100, 3), 1.0f);
  kernel.run(stream, view_of(memory.data() + 299, 100, -3), 1.0f);
  for (size_t i = 0; i < 300; ++i) CHECK(memory[i] == (i % 3 == 1 ? 0.0f : 1.0f));
}

TEST_CASE("bad arguments are refused with the caller's line, and nothing is written") {
  TestKernel kernel;
  Stream stream(Device::cpu());
  std::vector<float> memory(64, 1.0f);
  CHECK(kernel.complaint(stream, view_of(memory.data(), -1)) ==
        "kernel 'increment': argument 0 has the negative extent -1 on axis 0");
  CHECK(kernel.complaint(stream, view_of(nullptr, 8)).find("argument 0 is a null view") != std::string::npos);
  CHECK(
      kernel
          .complaint(stream, view_of(reinterpret_cast<float*>(reinterpret_cast<char*>(memory.data()) + 1), 8))
          .find("not aligned") != std::string::npos);
  CHECK(kernel.complaint(stream, view_of(memory.data(), INT64_MAX)).find("spans more memory") !=
        std::string::npos);
  CHECK(kernel.complaint(stream, view_of(memory.data(), 1LL << 40, 1LL << 40)).find("spans more memory") !=
        std::string::npos);
  CHECK(
      kernel.complaint(stream, view_of(memory.data(), 8), {.x = 4, .set = true}).find("leave .grid() out") !=
      std::string::npos);
  CHECK(kernel.complaint(stream, view_of(memory.data(), 8), {.x = -4, .set = true}).find("negative axis") !=
        std::string::npos);
  for (float value : memory) CHECK(value == 1.0f);
}

TEST_CASE("zero-sized work succeeds, null memory and all") {
  TestKernel kernel;
  Stream stream(Device::cpu());
  kernel.run(stream, view_of(nullptr, 0), 1.0f);
}

TEST_CASE("a variant is traced and compiled once, whatever the sizes and worker counts") {
  TestKernel kernel;
  Stream stream(Device::cpu());
  std::vector<float> memory(4096, 0.0f);
  const Schedule two{.work = persistent{.workers = 2}};
  kernel.run(stream, view_of(memory.data(), 10), 1.0f, &two);
  const int before = traces;
  for (int64_t n = 1; n < 20; ++n) kernel.run(stream, view_of(memory.data(), n * 100), 1.0f, &two);
  CHECK(traces == before);
  CHECK_FALSE(last_launch().compiled_now);
  kernel.run(stream, view_of(memory.data(), 10, 2), 1.0f, &two);
  CHECK(traces == before + 1);
  CHECK(last_launch().compiled_now);
}

TEST_CASE("every launch's report holds the schedule it used") {
  TestKernel kernel;
  Stream stream(Device::cpu());
  std::vector<float> memory(64, 0.0f);
  for (const int64_t workers : {2, 2, 2, 3, 3, 2}) {
    const Schedule wanted{.work = persistent{.workers = workers}};
    kernel.run(stream, view_of(memory.data(), 64), 1.0f, &wanted);
    CHECK(last_launch().schedule == wanted);
  }
}

TEST_CASE("a refused schedule leaves the kernel usable") {
  TestKernel kernel;
  Stream stream(Device::cpu());
  std::vector<float> memory(64, 0.0f);
  const Schedule impossible{.work = split_k{.parts = 4}};
  for (int i = 0; i < 2; ++i)
    CHECK_THROWS_AS(kernel.run(stream, view_of(memory.data(), 64), 1.0f, &impossible), Error);
  kernel.run(stream, view_of(memory.data(), 64), 1.0f);
  for (float value : memory) CHECK(value == 1.0f);
}

namespace {

// A trace that says something, as the cache may.
ir::Function* trace_and_log(const KernelSource& source, const TraceRequest& request) {
  log(LogLevel::warning, "tracing");
  return trace_increment(source, request);
}

}  // namespace

TEST_CASE("a log sink that launches the kernel being made gets an Error, and other kernels run") {
  TestKernel kernel, other;
  kernel.source.trace = trace_and_log;
  Stream stream(Device::cpu());
  std::vector<float> memory(64, 0.0f);
  std::string complaint;
  const test::LogCapture restore;
  set_log_sink([&](LogLevel, const std::string&) {
    if (!complaint.empty()) return;
    complaint = kernel.complaint(stream, view_of(memory.data(), 64));
    other.run(stream, view_of(memory.data(), 64), 1.0f);
  });
  kernel.run(stream, view_of(memory.data(), 64), 1.0f);
  CHECK(complaint ==
        "kernel 'increment' is launched while this very thread makes it, from a log sink perhaps; "
        "launch it later");
  for (float value : memory) CHECK(value == 2.0f);
  kernel.run(stream, view_of(memory.data(), 64), 1.0f);
}

TEST_CASE("many threads launch and compile one kernel at once") {
  TestKernel kernel;
  const int before = traces;
  std::vector<std::vector<float>> memories(8, std::vector<float>(1000, 0.0f));
  std::vector<std::thread> threads;
  for (std::vector<float>& memory : memories)
    threads.emplace_back([&] {
      Stream stream(Device::cpu(), 2);
      for (int i = 0; i < 50; ++i) kernel.run(stream, view_of(memory.data(), 1000), 1.0f);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& memory : memories)
    for (float value : memory) CHECK(value == 50.0f);
  CHECK(traces <= before + 2);  // a probe and a variant
}

}  // namespace heddle::runtime
