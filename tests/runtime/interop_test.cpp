// Kernels by name, as C and Python call them.
#include "runtime/interop.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "dsl/heddle.h"

using namespace heddle;

namespace {

HEDDLE_DIM(BLOCK);

const Kernel scaled{"scaled", [](View<const f32, 2> in, View<f32, 2> out, Scalar<f32> factor) {
                      auto [m, n] = tile_id<4, BLOCK>(out);
                      store(out, {m, n}, load<4, BLOCK>(in, {m, n}) * factor);
                    }};

std::string launch(const char* name, std::vector<heddle_argument> arguments, const char* schedule = nullptr,
                   const char* device = "cpu") {
  char message[512] = "";
  const int failed = heddle_launch(name, device, nullptr, schedule, nullptr, arguments.data(),
                                   int(arguments.size()), message, sizeof message);
  CHECK((failed != 0) == (*message != '\0'));
  return message;
}

heddle_argument view(const float* data, int64_t rows, int64_t columns, int64_t row_stride,
                     int64_t column_stride) {
  return {.kind = 1,
          .rank = 2,
          .bits = uint64_t(reinterpret_cast<uintptr_t>(data)),
          .extents = {rows, columns},
          .strides = {row_stride, column_stride}};
}

heddle_argument number(float value) {
  heddle_argument argument{.kind = 2, .rank = 0, .bits = 0, .extents = {}, .strides = {}};
  __builtin_memcpy(&argument.bits, &value, sizeof value);
  return argument;
}

}  // namespace

TEST_CASE("a published kernel runs by name, on raw pointers and strides") {
  publish("scaled", scaled.source());
  std::vector<float> in(6 * 10), out(6 * 10, -1);
  for (size_t i = 0; i < in.size(); ++i) in[i] = float(i);
  for (const char* schedule : {"", "BLOCK=8, work=persistent{workers=2}"}) {
    // The transpose of the input.
    CHECK(launch("scaled", {view(in.data(), 10, 6, 1, 10), view(out.data(), 10, 6, 6, 1), number(2)},
                 schedule) == "");
    for (int64_t i = 0; i < 10; ++i)
      for (int64_t j = 0; j < 6; ++j) REQUIRE(out[size_t(i * 6 + j)] == 2 * in[size_t(j * 10 + i)]);
  }
}

TEST_CASE("what does not fit a published kernel is refused in words") {
  publish("scaled", scaled.source());
  float memory[4] = {};
  const heddle_argument good = view(memory, 2, 2, 2, 1);
  const auto says = [](const std::string& message, const char* part) {
    INFO(message);
    CHECK(message.find(part) != std::string::npos);
  };
  says(launch("no such", {}), "no kernel is published as 'no such'");
  says(launch(nullptr, {}), "no kernel is published");
  says(launch("scaled", {good, good}), "takes 3 arguments, not 2");
  says(launch("scaled", {good, good, good}), "argument 2 of kernel 'scaled' is a scalar: f32");
  heddle_argument flat = good;
  flat.rank = 1;
  says(launch("scaled", {good, flat, number(1)}), "is a view of rank 2, not 1");
  says(launch("scaled", {good, view(nullptr, 2, 2, 2, 1), number(1)}), "argument 1 is a null view");
  says(launch("scaled", {good, good, number(1)}, "BLOCK=0"), "BLOCK");
  says(launch("scaled", {good, good, number(1)}, "nonsense"), "nonsense");
  says(launch("scaled", {good, good, number(1)}, "", "abacus"), "there is no device 'abacus'");
  CHECK_THROWS_AS(publish(nullptr, scaled.source()), Error);
  // The message is cut to fit, and none is needed.
  char small[8];
  CHECK(heddle_launch("no such", "cpu", nullptr, nullptr, nullptr, nullptr, 0, small, sizeof small) == 1);
  CHECK(std::string(small).size() == 7);
  CHECK(heddle_launch("no such", "cpu", nullptr, nullptr, nullptr, nullptr, 0, nullptr, 0) == 1);
}
