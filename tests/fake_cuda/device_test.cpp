// Devices, memory and streams through the driver; the caller's current context stays its own.
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/fake_cuda/fixture.h"

using namespace heddle;
using fake::cuda;

TEST_CASE("devices by name") {
  const fake::Fresh fresh;
  CHECK(Device::open("auto") == Device::cuda(0));
  CHECK(Device::open("cuda") == Device::cuda(0));
  CHECK(Device::open("cuda:1") == Device::cuda(1));
  CHECK(Device::cuda(1).ordinal() == 1);
  CHECK(std::string(Device::cuda(0).name()) == "Fake GPU 0, sm_90");
  CHECK(std::string(Device::cuda(1).name()) == "Fake GPU 1, sm_90");
  CHECK(Device::cuda(1).concurrency() == 132);
  for (const char* name : {"cuda:7", "cuda:2", "cuda:-1"}) {
    const fake::Problem problem = fake::problem_of([&] { Device::open(name, Location("user.cpp", 5)); });
    CHECK(problem.kind == ErrorKind::unsupported);
    CHECK(problem.message == std::string("there is no device ") + name + "; this machine has 2 GPUs");
    CHECK(problem.where.line == 5);
  }
  for (const char* name : {"cuda:x", "cuda:", "cuda:1 ", "cuda:99999999999", "Cuda", ""}) {
    const fake::Problem problem = fake::problem_of([&] { Device::open(name); });
    CHECK(problem.kind == ErrorKind::unsupported);
    CHECK(problem.has(std::string("there is no device '") + name + "'; there are auto, cpu"));
  }
  CHECK(cuda().current() == nullptr);
}

TEST_CASE("a buffer is zeroed memory of its device, and is given back") {
  const fake::Fresh fresh;
  const int before = fake::objects().blocks;
  for (int ordinal : {0, 1}) {
    const Device device = Device::cuda(ordinal);
    Stream stream(device);
    Buffer<i32> buffer(device, 1000);
    CHECK(cuda().memory_device(buffer.data()) == ordinal);
    CHECK(cuda().memory_device(buffer.data() + 999) == ordinal);
    CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % 64 == 0);
    std::vector<i32> host(1000, 7), back(1000, 7);
    buffer.download(stream, back.data());
    CHECK(back == std::vector<i32>(1000, 0));
    for (size_t i = 0; i < host.size(); ++i) host[i] = i32(i * 3);
    buffer.upload(stream, host.data());
    buffer.download(stream, back.data());
    CHECK(back == host);
    Buffer<i32> other = std::move(buffer);
    CHECK(fake::objects().blocks == before + 1);
    other = Buffer<i32>(device, 10);
    CHECK(fake::objects().blocks == before + 1);
  }
  CHECK(fake::objects().blocks == before);
}

TEST_CASE("an empty buffer asks nothing of the driver") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  cuda().clear();
  Buffer<f32> buffer(Device::cuda(0), 0);
  CHECK(buffer.data() == nullptr);
  buffer.upload(stream, nullptr);
  buffer.download(stream, nullptr);
  CHECK(cuda().calls(nullptr) == 0);
  CHECK(fake::problem_of([] { Buffer<f32>(Device::cuda(0), -1); }).kind == ErrorKind::launch);
  CHECK(fake::problem_of([] { Buffer<f32>(Device::cuda(0), INT64_MAX); }).kind == ErrorKind::launch);
  CHECK(cuda().calls(nullptr) == 0);
}

TEST_CASE("a buffer is not copied to nowhere, nor by a stream that can't reach it") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0)), host_stream(Device::cpu());
  Buffer<f32> buffer(Device::cuda(0), 4), host_buffer(Device::cpu(), 4);
  f32 host[4] = {1, 2, 3, 4}, back[4] = {};
  for (Stream* any : {&stream, &host_stream})
    for (const fake::Problem& problem : {fake::problem_of([&] { host_buffer.upload(*any, nullptr); }),
                                         fake::problem_of([&] { host_buffer.download(*any, nullptr); })}) {
      CHECK(problem.kind == ErrorKind::launch);
      CHECK(problem.has("16 bytes are to be copied, but the host's memory is null"));
    }
  for (const fake::Problem& problem : {fake::problem_of([&] { buffer.upload(host_stream, host); }),
                                       fake::problem_of([&] { buffer.download(host_stream, back); })}) {
    CHECK(problem.kind == ErrorKind::launch);
    CHECK(problem.has("can't be copied through a stream of "));
  }
  host_buffer.upload(stream, host);  // the driver reaches the host's memory
  host_buffer.download(host_stream, back);
  CHECK(back[3] == 4);
}

TEST_CASE("out of memory says how much was asked of whom, on the caller's line") {
  const fake::Fresh fresh;
  const int before = fake::objects().blocks;
  const fake::Problem problem =
      fake::problem_of([] { Buffer<f64>(Device::cuda(1), int64_t(1) << 40, Location("user.cpp", 31)); });
  CHECK(problem.kind == ErrorKind::launch);
  CHECK(problem.message ==
        "Fake GPU 1, sm_90 has no memory for a buffer of 8796093022208 bytes: 1073741824 of its 1073741824 "
        "bytes are free; free some, or take a smaller problem");
  CHECK(problem.where.line == 31);
  CHECK(fake::objects().blocks == before);
}

TEST_CASE("memory that can't be zeroed is not kept") {
  const fake::Fresh fresh;
  const int before = fake::objects().blocks;
  for (const char* function : {"cuMemsetD8Async", "cuStreamSynchronize"}) {
    cuda().fail(function, 719, 0);
    CHECK(fake::problem_of([] { Buffer<f32>(Device::cuda(0), 10); }).has("CUDA_ERROR_LAUNCH_FAILED"));
    CHECK(fake::objects().blocks == before);
    cuda().clear();
  }
}

TEST_CASE("a stream of one's own is made and destroyed; a caller's is used and left") {
  const fake::Fresh fresh;
  const int before = fake::objects().streams;
  {
    Stream stream(Device::cuda(1));
    CHECK(stream.native() != nullptr);
    CHECK(fake::objects().streams == before + 1);
    Stream moved = std::move(stream);
    moved = Stream(Device::cuda(0));
    moved.synchronize();
    CHECK(fake::objects().streams == before + 1);
  }
  CHECK(fake::objects().streams == before);
  void* callers = cuda().make_stream(1);
  {
    Stream stream = Stream::wrap(Device::cuda(1), callers);
    CHECK(stream.native() == callers);
    CHECK(stream.device() == Device::cuda(1));
    stream.synchronize();
  }
  CHECK(fake::objects().streams == before + 1);
  Stream::wrap(Device::cuda(0), nullptr).synchronize();
  const fake::Problem problem = fake::problem_of([&] { Stream::wrap(Device::cpu(), callers); });
  CHECK(problem.kind == ErrorKind::launch);
  CHECK(problem.where.line == __LINE__ - 2);
}

TEST_CASE("the caller's context is current again after every call, also after one that fails") {
  const fake::Fresh fresh;
  struct Step {
    const char* fails;
    void (*run)(Stream&, Buffer<f32>&);
  };
  static float host[16];
  const Step steps[] = {
      {"cuMemAlloc_v2", [](Stream&, Buffer<f32>&) { Buffer<f32>(Device::cuda(0), 16); }},
      {"cuMemsetD8Async", [](Stream&, Buffer<f32>&) { Buffer<f32>(Device::cuda(0), 16); }},
      {"cuMemFree_v2", [](Stream&, Buffer<f32>&) { Buffer<f32>(Device::cuda(0), 16); }},
      {"cuMemcpyAsync", [](Stream& stream, Buffer<f32>& buffer) { buffer.upload(stream, host); }},
      {"cuStreamSynchronize", [](Stream& stream, Buffer<f32>& buffer) { buffer.download(stream, host); }},
      {"cuStreamSynchronize", [](Stream& stream, Buffer<f32>&) { stream.synchronize(); }},
      {"cuStreamCreate", [](Stream&, Buffer<f32>&) { Stream(Device::cuda(0)); }},
      {"cuStreamDestroy_v2", [](Stream&, Buffer<f32>&) { Stream(Device::cuda(0)); }},
      {"cuCtxSetCurrent", [](Stream& stream, Buffer<f32>&) { stream.synchronize(); }},
      {"cuCtxGetCurrent", [](Stream& stream, Buffer<f32>&) { stream.synchronize(); }},
  };
  Stream stream(Device::cuda(0));
  Buffer<f32> buffer(Device::cuda(0), 16);
  for (int callers : {-1, 0, 1}) {
    cuda().make_current(callers);
    void* context = cuda().current();
    for (const Step& step : steps) {
      INFO("context of ", callers, ", ", std::string(step.fails));
      cuda().clear();
      step.run(stream, buffer);
      CHECK(cuda().current() == context);
      cuda().fail(step.fails, 719, 0);
      fake::problem_of([&] { step.run(stream, buffer); });
      CHECK(cuda().current() == context);
      cuda().clear();
    }
  }
}
