// What only a real driver can confirm of launches, captures and faults; the fake one in tests/fake_cuda does
// as its manual says. Nothing is run where there is no GPU.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "dsl/heddle.h"
#include "runtime/cuda/driver.h"

namespace {

using namespace heddle;

std::optional<Device> gpu() {
  const Device device = Device::open("auto");
  if (device.kind() == Device::Kind::cuda) return device;
  return std::nullopt;
}

// Calls a function of the driver that Heddle itself has no use for.
template <class... P>
void call(const char* name, P... parameters) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* function = library ? dlsym(library, name) : nullptr;
  if (!function) throw std::runtime_error(std::string("there is no ") + name);
  if (const int result = reinterpret_cast<int (*)(P...)>(function)(parameters...))
    throw std::runtime_error(std::string(name) + " gives " + std::to_string(result));
}

std::string problem_of(const auto& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}
bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Each use is a kernel of its own.
template <int Tag>
const Kernel increment{"increment", [](Ptr<i32> x) {
                         auto at = arange<32>();
                         store(x + at, load(x + at) + Tag);
                       }};

i32 first_of(Buffer<i32>& buffer, Stream& stream) {
  std::vector<i32> host(size_t(buffer.size()));
  buffer.download(stream, host.data());
  return host[0];
}

}  // namespace

TEST_CASE("driver: prepared launches are captured and replayed; refusals leave the capture valid") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Stream stream(*device), other(*device);
  Buffer<i32> x(*device, 32), y(*device, 32);
  increment<1>(stream, x.data());
  increment<1>(other, y.data());
  stream.synchronize(), other.synchronize();
  const runtime::cuda::ContextScope scope(runtime::cuda::device_info(device->ordinal(), {}), {});
  constexpr int kGlobalMode = 0;
  call("cuStreamBeginCapture_v2", stream.native(), kGlobalMode);
  increment<1>(stream, x.data());
  CHECK(
      has(problem_of([&] { increment<2>(stream, x.data()); }), "the stream is being captured into a graph"));
  CHECK(has(problem_of([&] { stream.synchronize(); }), "the stream is being captured into a graph"));
  {
    Buffer<i32> fresh(*device, 1 << 20);
    increment<3>(other, fresh.data());
    CHECK(first_of(fresh, other) == 3);
  }
  increment<1>(stream, x.data());
  void *graph = nullptr, *executable = nullptr;
  call("cuStreamEndCapture", stream.native(), &graph);
  REQUIRE(graph);
  CHECK(first_of(x, stream) == 1);  // what was captured has not run
  call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  for (int i = 0; i < 3; ++i) call("cuGraphLaunch", executable, stream.native());
  CHECK(first_of(x, stream) == 7);
  call("cuGraphExecDestroy", executable);
  call("cuGraphDestroy", graph);
  increment<2>(stream, x.data());
  CHECK(first_of(x, stream) == 9);
}

TEST_CASE("driver: memory that kernels reach is taken, other memory is refused") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Stream stream(*device);
  const runtime::cuda::DeviceInfo& info = runtime::cuda::device_info(device->ordinal(), {});
  const runtime::cuda::ContextScope scope(info, {});
  i32 *pinned = nullptr, *managed = nullptr;
  call("cuMemAllocHost_v2", reinterpret_cast<void**>(&pinned), size_t(4096));
  call("cuMemAllocManaged", reinterpret_cast<void**>(&managed), size_t(4096), 1U);
  for (i32* memory : {pinned, managed}) {
    memory[0] = 4;
    CHECK(problem_of([&] { increment<1>(stream, memory); }) == "");
    stream.synchronize();
    CHECK(memory[0] == 5);
  }
  std::vector<i32> host(1024);
  const std::string problem = problem_of([&] { increment<1>(stream, host.data()); });
  stream.synchronize();
  if (info.pageable)
    CHECK(host[0] == 1);
  else
    CHECK(has(problem, "is memory of the host, or was freed"));
  try {
    const Device second = Device::cuda(1);
    Buffer<i32> there(second, 32);
    Stream stream_there(second);
    CHECK(has(problem_of([&] { increment<1>(stream, there.data()); }), "argument 0 is memory of cuda:1"));
    increment<1>(stream_there, there.data());
    CHECK(first_of(there, stream_there) == 1);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);  // there is one GPU
  }
  stream.synchronize();
  call("cuMemFreeHost", static_cast<void*>(pinned));
  call("cuMemFree_v2", reinterpret_cast<unsigned long long>(managed));
}

namespace {

const Kernel wild{"wild", [](Ptr<i32> x, Scalar<i64> offset) { store(x + offset + arange<32>(), 1); }};

}  // namespace

// In a process of its own: its context can't be used afterwards.
TEST_CASE("helper: a kernel that faults" * doctest::skip()) {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Stream stream(*device);
  Buffer<i32> x(*device, 32);
  increment<1>(stream, x.data());
  stream.synchronize();
  wild(stream, x.data(), int64_t(1) << 45);
  const std::string told = problem_of([&] { stream.synchronize(); });
  INFO(told);
  CHECK(has(told,
            "a kernel that was launched before this call faulted; of Heddle's, these had not been waited "
            "for: 'wild' ("));
  CHECK(!has(told, "'increment'"));
  const std::string again = problem_of([&] { increment<1>(stream, x.data()); });
  INFO(again);
  CHECK(has(again, "a kernel that was launched before this call faulted"));
}

TEST_CASE("driver: a fault is told with the kernel's name, and the process ends well") {
  if (!gpu()) return;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const int status =
      std::system(("'" + program + "' --no-skip --test-case='helper: a kernel that faults'").c_str());
  CHECK(status == 0);
}

TEST_CASE("driver: a forked child is told why it has no GPU") {
  const std::optional<Device> device = gpu();
  if (!device) return;
  Stream stream(*device);
  Buffer<i32> x(*device, 32);
  increment<1>(stream, x.data());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string problem = problem_of([&] { increment<1>(stream, x.data()); });
    _exit(has(problem, "was forked from one that had opened the CUDA driver") ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(first_of(x, stream) == 1);
}
