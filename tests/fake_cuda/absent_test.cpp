// Machines whose driver can't be used: the CPU stays, and the message says what is missing. Each case runs in
// a process of its own, which finds another driver (CMakeLists.txt).
#include "tests/fake_cuda/fixture.h"

using namespace heddle;

namespace {

void check_absent(const std::string& reason) {
  CHECK(Device::open("auto") == Device::cpu());
  for (int round = 0; round < 2; ++round)
    for (const char* name : {"cuda", "cuda:0", "cuda:1"}) {
      const fake::Problem problem = fake::problem_of([&] { Device::open(name, Location("user.cpp", 12)); });
      CHECK(problem.kind == ErrorKind::unsupported);
      CHECK(problem.message == reason);
      CHECK(std::string(problem.where.file) == "user.cpp");
      CHECK(problem.where.line == 12);
    }
  CHECK(fake::problem_of([] { Device::cuda(); }).where.line == __LINE__);
  CHECK(fake::problem_of([] { Device::open("cuda:x"); }).has("there is no device 'cuda:x'"));
  // The rest of the library works.
  Stream stream;
  Buffer<f32> buffer(stream.device(), 4);
  const float in[4] = {1, 2, 3, 4};
  float out[4] = {};
  buffer.upload(stream, in);
  buffer.download(stream, out);
  CHECK(out[3] == 4);
}

}  // namespace

TEST_CASE("absent: no library") {
  check_absent(
      "there is no NVIDIA driver on this machine (libcuda.so.1 can't be opened); use the device cpu");
}

TEST_CASE("absent: functions") {
  check_absent("the NVIDIA driver is too old: it lacks cuDriverGetVersion; update it, or use the device cpu");
}

TEST_CASE("absent: devices") {
  check_absent(
      "the NVIDIA driver found no GPU it can use (no CUDA-capable device is detected); use the device cpu");
}

TEST_CASE("absent: cuInit fails") {
  check_absent(
      "the NVIDIA driver found no GPU it can use (system has unsupported display driver / cuda driver "
      "combination); use the device cpu");
}

TEST_CASE("absent: hidden devices") {
  check_absent(
      "the NVIDIA driver found no GPU it can use (no CUDA-capable device is detected, where "
      "CUDA_VISIBLE_DEVICES is '7,x'); use the device cpu");
}

TEST_CASE("absent: stub") {
  check_absent(
      "libcuda.so.1 is the CUDA toolkit's stub, not the driver's; take the folder of stubs off "
      "LD_LIBRARY_PATH, or use the device cpu");
}

TEST_CASE("absent: child of a process that uses CUDA") {
  check_absent(
      "the NVIDIA driver found no GPU it can use (initialization error), perhaps because this process was "
      "forked from one that uses CUDA; use the device cpu");
}

TEST_CASE("absent: compute capability") {
  CHECK(Device::open("auto") == Device::cpu());
  const fake::Problem problem = fake::problem_of([] { Device::open("cuda:1", Location("user.cpp", 12)); });
  CHECK(problem.kind == ErrorKind::unsupported);
  CHECK(problem.message == "Fake GPU 1, sm_75 is too old: kernels need compute capability 8.0");
  CHECK(problem.where.line == 12);
}
