// The driver's failures as Errors: kind, sentence, advice, and the user's line.
#include "tests/fake_cuda/kernels.h"

using namespace heddle;
using fake::cuda;

namespace {

constexpr uint32_t kLaunchLine = __LINE__ + 3;
template <int Tag>
void run(Stream& stream) {
  fake::add<Tag>.grid(1)(stream, fake::memory(), fake::memory(), 1);
}

}  // namespace

TEST_CASE("each code that advice is given for") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  run<10>(stream);
  struct Row {
    int code;
    ErrorKind kind;
    const char *name, *advice;
  };
  const Row rows[] = {
      {2, ErrorKind::launch, "OUT_OF_MEMORY (out of memory)", "the device has no memory left"},
      {4, ErrorKind::launch, "DEINITIALIZED (driver shutting down)", "the process is exiting"},
      {200, ErrorKind::unsupported,
       "INVALID_IMAGE (device kernel image is invalid) by the driver of CUDA 12.0: ",
       "made by its own major version of CUDA or one before; update it"},
      {209, ErrorKind::unsupported, "NO_BINARY_FOR_GPU (no kernel image is", "loads code for its own GPUs"},
      {218, ErrorKind::unsupported, "INVALID_PTX (a PTX JIT", "the driver does not accept the PTX"},
      {221, ErrorKind::unsupported, "JIT_COMPILER_NOT_FOUND (PTX JIT", "libnvidia-ptxjitcompiler.so"},
      {222, ErrorKind::unsupported, "UNSUPPORTED_PTX_VERSION (the",
       "by the driver of CUDA 12.0: PTX 8.0 takes a driver of CUDA 12.0 or later; update it"},
      {223, ErrorKind::unsupported, "JIT_COMPILATION_DISABLED (PTX JIT",
       "unset CUDA_DISABLE_PTX_JIT, or let HEDDLE_PTXAS"},
      {300, ErrorKind::unsupported, "INVALID_SOURCE (device", "the driver does not accept the PTX"},
      {302, ErrorKind::unsupported, "SHARED_OBJECT_SYMBOL_NOT_FOUND (shared",
       "install all of them from one version"},
      {303, ErrorKind::unsupported, "SHARED_OBJECT_INIT_FAILED (shared",
       "install all of them from one version"},
      {304, ErrorKind::launch, "OPERATING_SYSTEM (OS call failed",
       "the system refused something to the driver"},
      {700, ErrorKind::launch, "ILLEGAL_ADDRESS (an illegal", "restart the process"},
      {701, ErrorKind::launch, "LAUNCH_OUT_OF_RESOURCES (too many", "more registers or shared memory"},
      {702, ErrorKind::launch, "LAUNCH_TIMEOUT (the launch", "restart the process"},
      {716, ErrorKind::launch, "MISALIGNED_ADDRESS (misaligned", "restart the process"},
      {719, ErrorKind::launch, "LAUNCH_FAILED (unspecified", "restart the process"},
      {900, ErrorKind::launch, "STREAM_CAPTURE_UNSUPPORTED (operation", "the stream is being captured"},
      {906, ErrorKind::launch, "STREAM_CAPTURE_IMPLICIT (operation", "the stream is being captured"},
      {1, ErrorKind::launch, "INVALID_VALUE (invalid argument)", "driver API's reference"},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    cuda().fail("cuLaunchKernel", row.code, 0);
    const fake::Problem problem = fake::problem_of([&] { run<10>(stream); });
    INFO(problem.message);
    CHECK(problem.kind == row.kind);
    CHECK(problem.has(std::string("launching kernel 'add' failed: CUDA_ERROR_") + row.name));
    CHECK(problem.has(row.advice));
    CHECK(std::string(problem.where.file).find("errors_test.cpp") != std::string::npos);
    CHECK(problem.where.line == kLaunchLine);
    cuda().clear();
  }
  run<10>(stream);
  CHECK(cuda().launches() == 1);
}

TEST_CASE("a code that the driver itself does not know is told by its number") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  cuda().fail("cuStreamSynchronize", 12345, 0);
  const fake::Problem problem = fake::problem_of([&] { stream.synchronize(); });
  CHECK(problem.message ==
        "waiting for a stream failed: 12345 (an error unknown to the driver): see the CUDA driver API's "
        "reference for this code");
  CHECK(problem.where.line == __LINE__ - 4);
}

TEST_CASE("PTX that the assembler refuses comes with its log, and the kernel can be tried again") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const std::string log = "ptxas application ptx input, line 9; error : Unknown symbol 'x'";
  for (const int code : {218, 222}) {
    cuda().set_log(log.c_str());
    cuda().fail("cuLinkAddData_v2", code, 0);
    const fake::Problem problem = fake::problem_of([&] { run<11>(stream); });
    INFO(problem.message);
    CHECK(problem.kind == (code == 222 ? ErrorKind::unsupported : ErrorKind::compile));
    CHECK(problem.has("assembling kernel 'add'"));
    CHECK(problem.has("the assembler says: " + log));
    CHECK(problem.has("update it") == (code == 222));
    CHECK(problem.where.line == kLaunchLine);
    CHECK(fake::objects().links == 0);
    CHECK(cuda().current() == nullptr);
    cuda().clear();
  }
  run<11>(stream);
  CHECK(cuda().launches() == 1);
}

TEST_CASE("whatever fails while a kernel is made, nothing is left behind and the next launch works") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const FakeObjects before = fake::objects();
  for (const char* function : {"cuDriverGetVersion", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuLinkCreate_v2",
                               "cuLinkAddData_v2", "cuLinkComplete", "cuModuleLoadData",
                               "cuModuleGetFunction", "cuFuncGetAttribute", "cuLaunchKernel"}) {
    INFO(std::string(function));
    cuda().fail(function, 2, 0);
    const fake::Problem problem = fake::problem_of([&] { run<12>(stream); });
    CHECK(problem.kind == ErrorKind::launch);
    CHECK(problem.has("CUDA_ERROR_OUT_OF_MEMORY"));
    CHECK(problem.where.line == kLaunchLine);
    CHECK(cuda().current() == nullptr);
    cuda().clear();
    const FakeObjects after = fake::objects();
    CHECK(after.links == before.links);
    CHECK(after.modules == before.modules + (std::string(function) == "cuLaunchKernel"));
  }
  run<12>(stream);
  run<13>(stream);
  CHECK(cuda().launches() == 2);
}

TEST_CASE("a fault is told with the launches it may come from, and as older than the call that tells of it") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0)), other(Device::cuda(0)), third(Device::cuda(1));
  for (Stream* one : {&stream, &other, &third}) {
    for (int i = 0; i < 8; ++i) run<14>(*one);  // as many as are kept: none of an earlier case is left
    one->synchronize();
  }
  cuda().fail("cuStreamSynchronize", 700, 0);
  cuda().fail("cuLaunchKernel", 700, 0);
  // Somebody else's: everything of ours had been waited for.
  for (const fake::Problem& problem :
       {fake::problem_of([&] { run<14>(stream); }), fake::problem_of([&] { stream.synchronize(); })}) {
    INFO(problem.message);
    CHECK(problem.has(
        "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered): a kernel that was "
        "launched before this call faulted; all of Heddle's had been waited for, so it was "
        "someone else's in this process"));
  }
  cuda().clear();
  run<14>(stream);
  fake::scale<14>.with({.dims = {fake::BLOCK = 128}})(other, TensorRef<const f32, 2>(fake::memory(), {1, 1}),
                                                      TensorRef<f32, 2>(fake::memory(), {1, 1}));
  const std::string line = std::to_string(__LINE__ - 2);
  const std::string file = __FILE__, first = "'add' (" + file + ":" + std::to_string(kLaunchLine) + ")",
                    second = "'scale' (" + file + ":" + line + ")";
  cuda().fail("cuLaunchKernel", 719, 0);
  CHECK(
      fake::problem_of([&] {
        run<14>(stream);
      }).has("of Heddle's, these had not been waited for: " + second + ", " + first + "; if it was none of"));
  cuda().clear();
  stream.synchronize();  // is well, and so was what was launched on it
  cuda().fail("cuStreamSynchronize", 719, 0);
  CHECK(fake::problem_of([&] {
          other.synchronize();
        }).has("had not been waited for: " + second + "; if it was none of"));
  cuda().clear();
  other.synchronize();
}
