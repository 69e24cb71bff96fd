// Streams that are being captured into a graph: prepared kernels are captured; what would end a capture is
// refused, and the capture is valid afterwards.
#include "tests/fake_cuda/kernels.h"

using namespace heddle;
using fake::cuda;

namespace {

template <int Tag>
fake::Problem launch(Stream& stream) {
  return fake::problem_of([&] { fake::add<Tag>.grid(1)(stream, fake::memory(), fake::memory(), 1); });
}

}  // namespace

TEST_CASE("a kernel that was launched before is captured; a new one is refused and can be launched later") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  CHECK(launch<30>(stream).message == "");
  cuda().begin_capture(stream.native());
  CHECK(launch<30>(stream).message == "");
  CHECK(fake::last_launch().captured);
  const fake::Problem problem = launch<31>(stream);
  CHECK(problem.kind == ErrorKind::launch);
  CHECK(
      problem.message ==
      "kernel 'add' has to be compiled or loaded for arguments like these first, by prepare or a launch, but "
      "the stream is being captured into a graph; do it before the capture begins, or after it ends");
  CHECK(problem.where.line != 0);
  // No work asks nothing of the driver.
  f32* none = nullptr;
  fake::add<32>.grid(1, 0, 1)(stream, none, none, 0);
  CHECK(launch<30>(stream).message == "");
  CHECK(cuda().launches() == 3);
  CHECK(cuda().end_capture(stream.native()));
  CHECK(launch<31>(stream).message == "");
  CHECK_FALSE(fake::last_launch().captured);
}

TEST_CASE("prepare makes all that a launch needs, and runs nothing") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  f32* none = nullptr;
  fake::add<36>.grid(7).prepare(stream, none, none, 1);
  fake::scale<36>.prepare(stream, TensorRef<const f32, 2>(none, {0, 8}), TensorRef<f32, 2>(none, {0, 8}));
  CHECK(cuda().launches() == 0);
  CHECK(cuda().calls("cuModuleLoadData") == 2);
  CHECK(runtime::last_launch().compiled_now);
  cuda().begin_capture(stream.native());
  CHECK(launch<36>(stream).message == "");
  const TensorRef<f32, 2> view(fake::memory(), {3, 8});
  fake::scale<36>(stream, view, view);
  CHECK_FALSE(runtime::last_launch().compiled_now);
  CHECK(cuda().launches() == 2);
  CHECK(cuda().end_capture(stream.native()));
  // What a launch refuses of grids and schedules, it refuses too.
  CHECK(fake::problem_of([&] { fake::add<36>.prepare(stream, none, none, 1); }).has("asks program_id"));
  CHECK(
      fake::problem_of([&] {
        fake::scale<36>.with({.dims = {fake::BLOCK = 128}, .work = split_k{.parts = 2}}).prepare(stream, view, view);
      }).kind == ErrorKind::schedule);
}

TEST_CASE("waiting for a stream that is being captured is refused") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  Buffer<f32> buffer(Device::cuda(0), 4);
  float host[4] = {};
  cuda().begin_capture(stream.native());
  const fake::Problem problems[] = {
      fake::problem_of([&] { stream.synchronize(); }),
      fake::problem_of([&] { buffer.upload(stream, host); }),
      fake::problem_of([&] { buffer.download(stream, host); }),
  };
  for (const fake::Problem& problem : problems) {
    INFO(problem.message);
    CHECK(problem.kind == ErrorKind::launch);
    CHECK(problem.has("but the stream is being captured into a graph"));
    CHECK(std::string(problem.where.file).find("capture_test") != std::string::npos);
  }
  CHECK(cuda().end_capture(stream.native()));
  buffer.upload(stream, host);
}

TEST_CASE("other streams' captures survive all that is done meanwhile") {
  const fake::Fresh fresh;
  Stream captured(Device::cuda(0)), stream(Device::cuda(0));
  void* blocking = cuda().make_stream(0);
  cuda().begin_capture(captured.native());
  cuda().begin_capture(blocking);
  CHECK(launch<33>(stream).message == "");
  {
    float host[4] = {};
    Buffer<f32> buffer(Device::cuda(0), 4);
    buffer.upload(stream, host);
    buffer.download(stream, host);
    stream.synchronize();
    const Stream another(Device::cuda(0));
  }
  // The default stream would wait for the blocking one.
  Stream null = Stream::wrap(Device::cuda(0), nullptr);
  CHECK(launch<34>(null).has("another stream is being captured, for which the default stream would wait"));
  CHECK(fake::problem_of([&] { null.synchronize(); }).has("another stream is being captured"));
  CHECK(cuda().end_capture(captured.native()));
  CHECK(cuda().end_capture(blocking));
}

TEST_CASE("nothing is done on the default stream unless it is the caller's") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(1));
  Buffer<f32> buffer(Device::cuda(1), 4);
  float host[4] = {};
  buffer.upload(stream, host);
  fake::add<35>.grid(1)(stream, buffer.data(), buffer.data(), 1);
  buffer.download(stream, host);
  stream.synchronize();
  CHECK(cuda().default_stream_uses() == 0);
  Stream null = Stream::wrap(Device::cuda(1), nullptr);
  fake::add<35>.grid(1)(null, buffer.data(), buffer.data(), 1);
  CHECK(cuda().default_stream_uses() == 1);
}
