// Pointers that a kernel on the stream's device can't reach: refused by name before the launch, at no cost to
// launches that repeat.
#include <vector>

#include "tests/fake_cuda/kernels.h"

using namespace heddle;
using fake::cuda;

namespace {

constexpr uint32_t kLine = __LINE__ + 2;
fake::Problem launch(Stream& stream, const f32* x, f32* out) {
  return fake::problem_of([&] { fake::add<20>.grid(1)(stream, x, out, 1); });
}

}  // namespace

TEST_CASE("memory: of another device") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  Buffer<f32> here(Device::cuda(0), 64), there(Device::cuda(1), 64);
  CHECK(launch(stream, here.data(), here.data()).message == "");
  CHECK(cuda().launches() == 1);
  const fake::Problem problem = launch(stream, here.data(), there.data());
  CHECK(problem.kind == ErrorKind::launch);
  CHECK(problem.message ==
        "kernel 'add': argument 1 is memory of cuda:1, which the stream's device cuda:0 has no access to: "
        "launch on a stream of cuda:1, copy the memory, or enable peer access");
  CHECK(problem.where.line == kLine);
  // A view's base, and an address inside.
  const TensorRef<f32, 2> view = there.view(4, 16), own = here.view(4, 16);
  CHECK(fake::problem_of([&] { fake::scale<20>(stream, view, own); }).has("argument 0 is memory of cuda:1"));
  CHECK(launch(stream, there.data() + 60, here.data()).has("argument 0 is memory of cuda:1"));
  CHECK(cuda().launches() == 1);
  Stream other(Device::cuda(1));
  CHECK(launch(other, there.data(), there.data()).message == "");
  CHECK(launch(other, here.data(), there.data()).has("memory of cuda:0"));
  cuda().enable_peers();
  CHECK(launch(stream, there.data(), here.data()).message == "");
}

TEST_CASE("memory: of the host") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  Buffer<f32> here(Device::cuda(0), 64);
  std::vector<float> host(64);
  const fake::Problem problem = launch(stream, host.data(), here.data());
  CHECK(problem.kind == ErrorKind::launch);
  CHECK(problem.has("kernel 'add': argument 0 at address 0x"));
  CHECK(
      problem.has("is memory of the host, or was freed: Fake GPU 0, sm_90 reaches memory that Buffer or the "
                  "driver allocated"));
  CHECK(problem.where.line == kLine);
  CHECK(cuda().launches() == 0);
  CHECK(launch(stream, fake::memory(), here.data()).message == "");  // registered with the driver
}

TEST_CASE("memory: pageable, where kernels may read all of the host") {
  Stream stream(Device::cuda(0));
  std::vector<float> host(64);
  CHECK(launch(stream, host.data(), host.data()).message == "");
  CHECK(cuda().launches() == 1);
}

TEST_CASE("memory: the driver is asked once for an allocation, however many arguments lie there") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  Buffer<f32> first(Device::cuda(0), 1000), second(Device::cuda(0), 1000);
  for (int round = 0; round < 3; ++round)
    for (int64_t offset : {0, 4, 800}) {
      CHECK(launch(stream, first.data() + offset, second.data() + offset).message == "");
      CHECK(launch(stream, fake::memory() + offset, second.data()).message == "");
    }
  const int asked = cuda().calls("cuPointerGetAttribute");
  CHECK(asked > 0);
  for (int64_t offset : {8, 400, 992})
    CHECK(launch(stream, first.data() + offset, second.data() + offset).message == "");
  CHECK(cuda().calls("cuPointerGetAttribute") == asked);
}

TEST_CASE("memory: freed buffers are forgotten") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  Buffer<f32> out(Device::cuda(0), 64);
  const f32* address = nullptr;
  {
    Buffer<f32> buffer(Device::cuda(0), 64);
    address = buffer.data();
    CHECK(launch(stream, address, out.data()).message == "");
  }
  CHECK(launch(stream, address, out.data()).has("was freed"));
}

TEST_CASE("memory: null is refused before anything is compiled; empty views may lie anywhere") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  Buffer<f32> out(Device::cuda(0), 64);
  f32* none = nullptr;
  const auto run = [&] { fake::add<21>.grid(1)(stream, none, out.data(), 1); };
  CHECK(fake::problem_of(run).has("argument 0 is a null pointer"));
  CHECK(cuda().calls("cuLinkCreate_v2") == 0);
  float host[4] = {};
  fake::scale<21>(stream, TensorRef<const f32, 2>(host, {0, 4}), TensorRef<f32, 2>(host, {0, 4}));
  fake::scale<21>(stream, TensorRef<const f32, 2>(none, {4, 0}), TensorRef<f32, 2>(none, {4, 0}));
  fake::add<21>.grid(0)(stream, &host[0], &host[0], 1);
  CHECK(cuda().calls("cuLinkCreate_v2") == 0);
  CHECK(cuda().calls("cuPointerGetAttribute") == 0);
  CHECK(cuda().launches() == 0);
}
