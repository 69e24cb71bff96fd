// A child forked after the driver was opened: an Error instead of a call, destructors that do nothing, and a
// CPU that works.
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "tests/fake_cuda/kernels.h"

using namespace heddle;
using fake::cuda;

TEST_CASE("a forked child is told why it has no GPU, and calls the driver for nothing") {
  const fake::Fresh fresh;
  std::optional<Stream> stream(Device::cuda(0));
  std::optional<Buffer<f32>> buffer(std::in_place, Device::cuda(0), 64);
  fake::add<40>.grid(1)(*stream, buffer->data(), buffer->data(), 1);
  cuda().clear();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int failed = 0;
    const auto expect = [&](int bit, bool good) { failed |= good ? 0 : 1 << bit; };
    const auto refused = [&](auto attempt) {
      const fake::Problem problem = fake::problem_of(attempt);
      return problem.kind == ErrorKind::unsupported && problem.where.known() &&
             problem.has("was forked from one that had opened the CUDA driver");
    };
    expect(0, refused([&] { fake::add<40>.grid(1)(*stream, buffer->data(), buffer->data(), 1); }));
    expect(1, refused([&] { stream->synchronize(); }));
    expect(2, refused([&] { Stream(Device::cuda(1)); }));
    expect(3, refused([&] { Buffer<f32>(Device::cuda(0), 4); }));
    buffer.reset();
    stream.reset();
    expect(4, Device::open("auto") == Device::cpu());
    Stream host(Device::cpu());
    float numbers[128] = {};
    fake::add<40>.grid(1)(host, &numbers[0], &numbers[0], 128);
    expect(5, numbers[127] == 40);
    expect(6, cuda().calls(nullptr) == 0);
    _exit(failed);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  fake::add<40>.grid(1)(*stream, buffer->data(), buffer->data(), 1);  // the parent goes on
  CHECK(cuda().launches() == 1);
}
