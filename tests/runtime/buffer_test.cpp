// Buffer: views that fit, and those that don't.
#include "runtime/buffer.h"

#include <doctest/doctest.h>

#include <string>

#include "codegen/ir/error.h"

namespace heddle {
namespace {

template <class F>
std::string complaint(F&& make) {
  try {
    make();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::launch);
    CHECK(std::string(error.where().file) == __FILE__);
    return error.message();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("a view that is larger than its buffer is refused by its extents") {
  Buffer<float> buffer(Device::cpu(), 24);
  CHECK(complaint([&] { buffer.view(24), buffer.view(4, 6), buffer.view(2, 3, 4), buffer.view(0, 1000); }) ==
        "(accepted)");
  CHECK(complaint([&] { buffer.view(25); }) ==
        "a view of 25 elements is larger than the buffer, which holds 24");
  CHECK(complaint([&] { buffer.view(5, 5); }) ==
        "a view of 5 x 5 elements is larger than the buffer, which holds 24");
  CHECK(complaint([&] { buffer.view(int64_t(1) << 32, int64_t(1) << 32, 1); }).find("is larger") !=
        std::string::npos);
  CHECK(complaint([&] { buffer.view(3, -1); }) == "a view can't have the negative extent -1");
}

TEST_CASE("a buffer that can't be had is refused with its size") {
  CHECK(complaint([] { Buffer<float>(Device::cpu(), -1); }) != "(accepted)");
  CHECK(complaint([] { Buffer<float>(Device::cpu(), INT64_MAX); }) != "(accepted)");
  CHECK(complaint([] { Buffer<float>(Device::cpu(), int64_t(1) << 60); }) != "(accepted)");
}

}  // namespace heddle
