// Who assembles, and what happens when they can't: scripts in the place of ptxas, the real one, and the
// driver's own assembler.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/fake_cuda/kernels.h"
#include "tests/support/fake_ptxas.h"
#include "tests/support/stderr_capture.h"
#include "tests/support/temporary_folder.h"

using namespace heddle;
using namespace heddle::test;
using fake::cuda;
namespace fs = std::filesystem;

namespace {

constexpr uint32_t kLaunchLine = __LINE__ + 3;
template <int Tag>
void run(Stream& stream) {
  fake::add<Tag>.grid(1)(stream, fake::memory(), fake::memory(), 1);
}

// Of the same code by a kernel that knows nothing of the others.
template <int Tag>
void run_anew(Stream& stream) {
  const Kernel kernel{"add", [](Ptr<const f32> x, Ptr<f32> out, Scalar<i64> n) {
                        auto i = program_id(0) * 128 + arange<128>();
                        auto live = i < n;
                        store(out + i, load(x + i, live) + float(Tag), live);
                      }};
  kernel.grid(1)(stream, fake::memory(), fake::memory(), 1);
}

// An environment variable for one test case.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name), before_(std::getenv(name)) {
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  ~Variable() { ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  const std::string before_;
};

int calls_of(const fs::path& ptxas) {
  int count = 0;
  for (const char c : read_file(ptxas.string() + ".calls")) count += c == '\n';
  return count;
}

std::string assembled() {
  return runtime::describe(runtime::last_launch().gpu);
}

constexpr const char* kByDriver =
    "40 registers, 16 bytes of local memory a thread, 0.0 KiB shared, by driver 12.0";
constexpr const char* kByPtxas = "64 registers, 84 bytes spilled, 0.0 KiB shared, by ptxas 12.0.140";

// What a process writes to stderr that launches a kernel with these variables, and, last, who assembled it.
std::string launch_in_process(const std::string& variables) {
  const TemporaryFolder folder;
  const std::string command = "HEDDLE_CACHE_DIR='" + (folder.path() / "cache").string() + "' " + variables +
                              " '" + fs::read_symlink("/proc/self/exe").string() +
                              "' --no-skip --test-case='helper: assemble' 2>'" +
                              (folder.path() / "said").string() + "' >/dev/null";
  CHECK(std::system(command.c_str()) == 0);
  return read_file(folder.path() / "said");
}

}  // namespace

TEST_CASE("helper: assemble" * doctest::skip()) {
  Stream stream(Device::cuda(0));
  run<60>(stream);
  std::fprintf(stderr, "%s\n", assembled().c_str());
  // All parameters of a cubin that a real ptxas made.
  CHECK(fake::last_launch().parameter_count == 3 + 5 + 1);
}

TEST_CASE("a named ptxas assembles; its report is in the cache with the cubin") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const TemporaryFolder folder;
  const fs::path ptxas = folder.path() / "ptxas";
  write_fake_ptxas(ptxas, "12.0.140", fake_ptxas::kAssembles);
  {
    const Variable named("HEDDLE_PTXAS", ptxas);
    const std::string said = stderr_of([&] { run<61>(stream); });
    CHECK(said == "");
    CHECK(assembled() == kByPtxas);
    const runtime::GpuCode code = runtime::last_launch().gpu;
    CHECK(code.stack_bytes == 48);
    CHECK(code.spill_store_bytes == 40);
    CHECK(code.spill_load_bytes == 44);
    CHECK(runtime::last_launch().assemble_ms > 0);
    CHECK(cuda().calls("cuLinkCreate_v2") == 0);
    CHECK(calls_of(ptxas) == 2);  // its version, the kernel
    // A launch that makes nothing has nothing to tell.
    run<61>(stream);
    CHECK(assembled() == "");
    run_anew<61>(stream);
    CHECK(assembled() == kByPtxas);
    CHECK(runtime::last_launch().cache_hit);
    CHECK(calls_of(ptxas) == 2);
  }
  // The driver's code is another entry.
  run_anew<61>(stream);
  CHECK(assembled() == kByDriver);
  CHECK_FALSE(runtime::last_launch().cache_hit);
  CHECK(cuda().calls("cuLinkCreate_v2") == 1);
  CHECK(cuda().launches() == 4);
}

TEST_CASE("a named ptxas that fails costs one warning, and the driver assembles") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const TemporaryFolder folder;
  struct Row {
    std::string acts, says;
  };
  const Row rows[] = {
      {fake_ptxas::kCrashes, "it ended by signal 11 (Segmentation fault)"},
      {fake_ptxas::kWritesNothing, "it ended well, but made no cubin and says: fine"},
      {fake_ptxas::kWritesGarbage, "it ended well, but made no cubin and says: %s%n \\033[31m garbage"},
      {fake_ptxas::kTooOld,
       "it ended with status 255 and says: ptxas kernel.ptx, line 6; fatal : Unsupported .version 8.0; "
       "current "
       "version is '7.8'"},
      {fake_ptxas::kKnowsNoSuchGpu,
       "it ended with status 255 and says: ptxas fatal   : Value 'sm_90' is not defined for option "
       "'gpu-name'"},
      {fake_ptxas::kRefuses,
       "it ended with status 255 and says: ptxas kernel.ptx, line 9; error : Not a name of"},
  };
  int number = 0;
  for (const Row& row : rows) {
    INFO(row.says);
    const fs::path ptxas = folder.path() / ("ptxas" + std::to_string(number++));
    write_fake_ptxas(ptxas, "12.0.140", row.acts);
    const Variable named("HEDDLE_PTXAS", ptxas);
    const std::string said = stderr_of([&] { run_anew<62>(stream); });
    INFO(said);
    CHECK(said.starts_with(
        "heddle: warning: assembling kernel 'add', PTX 8.0 for sm_90, with ptxas 12.0.140 (" +
        ptxas.string() + ") failed: " + row.says));
    CHECK(said.ends_with("; driver 12.0 assembles instead\n"));
    CHECK(assembled() == kByDriver);
    const int calls = calls_of(ptxas);
    CHECK(stderr_of([&] { run_anew<63>(stream); }) == "");
    CHECK(assembled() == kByDriver);
    CHECK(calls_of(ptxas) == calls);  // it is not asked again
  }
}

TEST_CASE("a cubin that the driver does not load is another failure of the ptxas that made it") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const TemporaryFolder folder;
  const fs::path ptxas = folder.path() / "ptxas";
  write_fake_ptxas(ptxas, "12.0.140", fake_ptxas::kMakesWhatDoesNotLoad);
  const Variable named("HEDDLE_PTXAS", ptxas);
  const int modules = fake::objects().modules;
  const std::string said = stderr_of([&] { run<70>(stream); });
  INFO(said);
  CHECK(said.starts_with(
      "heddle: warning: loading kernel 'add', assembled by ptxas 12.0.140 failed: "
      "CUDA_ERROR_INVALID_IMAGE (device kernel image is invalid) by the driver of CUDA 12.0: "));
  CHECK(said.ends_with("; driver 12.0 assembles instead\n"));
  CHECK(assembled() == kByDriver);
  CHECK(fake::objects().modules == modules + 1);
  CHECK(stderr_of([&] { run<71>(stream); }) == "");
  CHECK(assembled() == kByDriver);
  // No memory is nobody's fault, and no other assembler helps.
  write_fake_ptxas(folder.path() / "good", "12.0.141", fake_ptxas::kAssembles);
  const Variable good("HEDDLE_PTXAS", folder.path() / "good");
  cuda().fail("cuModuleLoadData", 2, 0);
  const fake::Problem problem = fake::problem_of([&] { run<72>(stream); });
  CHECK(problem.has("loading kernel 'add', assembled by ptxas 12.0.141 failed: CUDA_ERROR_OUT_OF_MEMORY"));
  CHECK(cuda().calls("cuModuleLoadData") == 4);
}

TEST_CASE("what the driver's own assembler made and the driver does not load is an Error that names both") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  for (const int code : {200, 209}) {
    cuda().fail("cuModuleLoadData", code, 0);
    const fake::Problem problem = fake::problem_of([&] { run<73>(stream); });
    INFO(problem.message);
    CHECK(problem.kind == ErrorKind::unsupported);
    CHECK(problem.has("loading kernel 'add', assembled by driver 12.0 failed: CUDA_ERROR_"));
    CHECK(problem.has(" by the driver of CUDA 12.0: the driver loads code for its own GPUs"));
    CHECK(problem.where.line == kLaunchLine);
  }
}

TEST_CASE("a named ptxas that can't be used at all costs one warning") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  write_script(path("silent"), "exit 0");
  write_file(path("plain"), "text");
  write_fake_ptxas(path("later"), "13.9.1", fake_ptxas::kAssembles);
  struct Row {
    std::string path, says;
  };
  const Row rows[] = {
      {"/no/such/ptxas", "can't be found (No such file or directory)"},
      {path("plain"), "can't be started (Permission denied) when asked for its version"},
      {folder.path(), "can't be started (Permission denied) when asked for its version"},
      {path("silent"), "does not tell its version"},
  };
  for (const Row& row : rows) {
    const Variable named("HEDDLE_PTXAS", row.path);
    for (const bool first : {true, false}) {
      const std::string said = stderr_of([&] { run_anew<64>(stream); });
      CHECK(said == (first ? "heddle: warning: " + row.path + ", named by HEDDLE_PTXAS, " + row.says +
                                 " and is not used; driver 12.0 assembles\n"
                           : ""));
      CHECK(assembled() == kByDriver);
    }
  }
  const Variable named("HEDDLE_PTXAS", path("later"));
  CHECK(stderr_of([&] { run<65>(stream); }) == "heddle: warning: ptxas 13.9.1, " + path("later") +
                                                   ", named by HEDDLE_PTXAS, makes what drivers of CUDA 13 "
                                                   "load and is not used; driver 12.0 assembles\n");
  CHECK(assembled() == kByDriver);
}

TEST_CASE("a ptxas that was found is taken where it is newer, and its failures are no warnings") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& version, const std::string& acts, const std::string& level) {
    write_fake_ptxas(folder.path() / "ptxas", version, acts);
    return launch_in_process("HEDDLE_PTXAS= HEDDLE_LOG=" + level + " PATH='" + folder.path().string() +
                             "':$PATH");
  };
  const std::string driver = std::string(kByDriver) + "\n";
  CHECK(with("12.1.5", fake_ptxas::kAssembles, "warning") ==
        "64 registers, 84 bytes spilled, 0.0 KiB shared, by ptxas 12.1.5\n");
  CHECK(with("12.0.140", fake_ptxas::kAssembles, "warning") == driver);
  CHECK(with("11.8.89", fake_ptxas::kAssembles, "warning") == driver);
  CHECK(with("13.0.88", fake_ptxas::kAssembles, "warning") == driver);
  CHECK(with("12.1.5", fake_ptxas::kCrashes, "warning") == driver);
  CHECK(with("12.1.5", fake_ptxas::kRefuses, "warning") == driver);
  const std::string said = with("12.1.5", fake_ptxas::kTooOld, "info");
  CHECK(said.find("heddle: info: assembling kernel 'add', PTX 8.0 for sm_90, with ptxas 12.1.5 (") == 0);
  CHECK(said.ends_with(driver));
}

TEST_CASE("a driver without its own assembler has a ptxas do it, however old") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const TemporaryFolder folder;
  write_fake_ptxas(folder.path() / "ptxas", "12.0.140", fake_ptxas::kAssembles);
  const Variable none("HEDDLE_PTXAS", "");
  const Variable path("PATH", folder.path().string() + ":" + std::getenv("PATH"));
  cuda().fail("cuLinkCreate_v2", 221, 0);
  CHECK(stderr_of([&] { run<66>(stream); }) == "");
  CHECK(assembled() == kByPtxas);
  run<67>(stream);
  CHECK(assembled() == kByPtxas);
  CHECK(cuda().calls("cuLinkCreate_v2") == 1);
}

TEST_CASE("the log tells of each kernel that is made: info") {
  const TemporaryFolder folder;
  write_fake_ptxas(folder.path() / "ptxas", "12.0.140", fake_ptxas::kAssembles);
  const std::string cache = "HEDDLE_CACHE_DIR='" + (folder.path() / "cache").string() + "' ",
                    ptxas = " HEDDLE_PTXAS='" + (folder.path() / "ptxas").string() + "'";
  for (const char* result : {"miss", "hit"}) {
    const std::string said = launch_in_process(cache + "HEDDLE_LOG=info" + ptxas);
    INFO(said);
    CHECK(said.find("heddle: info: kernel 'add' for Fake GPU 0, sm_90: traced in ") == 0);
    CHECK(said.find(std::string("; cache ") + result + ", ready in ") != std::string::npos);
    CHECK(said.find(" ms, " + (folder.path() / "cache").string() + "/") != std::string::npos);
    CHECK(
        said.find(
            "\nheddle: info: kernel 'add' spills: 64 registers are not enough, so its code moves 40 bytes to "
            "local memory and 44 back; ") != std::string::npos);
    CHECK(
        said.find("\nheddle: info: kernel 'add': ptxas 12.0.140 remarks: (C7511) Potential Performance Loss: "
                  "something is serialized\n") != std::string::npos);
    CHECK(said.find("debug") == std::string::npos);
  }
  const std::string said = launch_in_process(cache + "HEDDLE_LOG=debug" + ptxas);
  INFO(said);
  CHECK(said.find("heddle: debug: kernel 'add' is for ptxas 12.0.140: ptxas 12.0.140, " +
                  folder.path().string() + "/ptxas, named by HEDDLE_PTXAS, is taken\n") == 0);
  CHECK(said.find(" ms to PTX, ") != std::string::npos);
  CHECK(said.find("heddle: debug: kernel 'add': " + std::string(kByPtxas) + "\n") != std::string::npos);
}

TEST_CASE("threads at once: one call assembles a kernel, one warning tells of a failure") {
  const fake::Fresh fresh;
  const TemporaryFolder folder;
  const fs::path good = folder.path() / "good", bad = folder.path() / "bad";
  write_fake_ptxas(good, "12.0.142", fake_ptxas::kAssembles);
  write_fake_ptxas(bad, "12.0.143", fake_ptxas::kCrashes);
  const auto at_once = [](auto... launches) {
    return stderr_of([&] {
      std::vector<std::thread> threads;
      const auto start = [&](auto launch) {
        threads.emplace_back([launch] {
          Stream stream(Device::cuda(0));
          launch(stream);
        });
      };
      (start(launches), ...);
      for (std::thread& thread : threads) thread.join();
    });
  };
  {
    const Variable named("HEDDLE_PTXAS", good);
    CHECK(at_once(run_anew<75>, run_anew<75>, run_anew<75>, run_anew<75>) == "");
    CHECK(calls_of(good) == 2);  // its version, the kernel
  }
  const Variable named("HEDDLE_PTXAS", bad);
  const std::string said = at_once(run_anew<76>, run_anew<77>, run_anew<78>, run_anew<79>);
  INFO(said);
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
  CHECK(cuda().launches() == 8);
}

TEST_CASE("processes at once: one of them assembles a kernel") {
  const TemporaryFolder folder;
  const fs::path ptxas = folder.path() / "ptxas";
  write_fake_ptxas(ptxas, "12.0.140", "sleep 0.3\n" + fake_ptxas::kAssembles);
  const std::string one = "HEDDLE_CACHE_DIR='" + (folder.path() / "cache").string() + "' HEDDLE_PTXAS='" +
                          ptxas.string() + "' '" + fs::read_symlink("/proc/self/exe").string() +
                          "' --no-skip --test-case='helper: assemble' >/dev/null 2>&1 & ";
  REQUIRE(std::system((one + one + one + one + "wait").c_str()) == 0);
  const std::string calls = read_file(ptxas.string() + ".calls");
  INFO(calls);
  CHECK(calls_of(ptxas) == 4 + 1);  // all ask for the version
  CHECK(calls.find("-v -arch=sm_90 -o ") != std::string::npos);
}

TEST_CASE("the driver's report is read where it gives one") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  cuda().set_info(
      "ptxas info    : Compiling entry function 'heddle_add' for 'sm_90'\n"
      "ptxas info    : Function properties for heddle_add\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 22 registers, 2048 bytes smem, 400 bytes cmem[0]\n");
  run<68>(stream);
  CHECK(assembled() == "22 registers, 0 bytes spilled, 2.0 KiB shared, by driver 12.0");
}

TEST_CASE("the real ptxas: its cubin is loaded with all parameters, and its report told") {
  const std::string said = launch_in_process("FAKE_CUDA_VERSION=99000 HEDDLE_PTXAS='" HEDDLE_TEST_PTXAS "'");
  INFO(said);
  CHECK(said.find(" registers, 0 bytes spilled, 0.0 KiB shared, by ptxas ") != std::string::npos);
  CHECK(said.find('\n') == said.size() - 1);
}

TEST_CASE("a driver that can't assemble is told with the versions, and what to do") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  struct Row {
    int code;
    const char* advice;
  };
  const Row rows[] = {
      {218, "is it older than CUDA 12.0, update it, else report this"},
      {221, "install its libnvidia-ptxjitcompiler.so beside libcuda, or let HEDDLE_PTXAS name a ptxas"},
      {222, "PTX 8.0 takes a driver of CUDA 12.0 or later; update it"},
      {223, "unset CUDA_DISABLE_PTX_JIT, or let HEDDLE_PTXAS name a ptxas"},
      {303, "install all of them from one version of the driver, or let HEDDLE_PTXAS name a ptxas"},
  };
  for (const char* function : {"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete"})
    for (const Row& row : rows) {
      INFO(std::string(function), " ", row.code);
      cuda().fail(function, row.code, 0);
      const fake::Problem problem = fake::problem_of([&] { run<74>(stream); });
      INFO(problem.message);
      CHECK(problem.kind == ErrorKind::unsupported);
      CHECK(problem.message.starts_with(
          "assembling kernel 'add', PTX 8.0 for sm_90, with the assembler of driver "
          "12.0 failed: CUDA_ERROR_"));
      CHECK(problem.has(") by the driver of CUDA 12.0: "));
      CHECK(problem.message.ends_with(row.advice));
      CHECK(problem.where.line == kLaunchLine);
      CHECK(fake::objects().links == 0);
      cuda().clear();
    }
}

TEST_CASE("the Error of a kernel that nobody assembles is the user's line's") {
  const fake::Fresh fresh;
  Stream stream(Device::cuda(0));
  const TemporaryFolder folder;
  write_fake_ptxas(folder.path() / "ptxas", "12.0.140", fake_ptxas::kRefuses);
  const Variable named("HEDDLE_PTXAS", folder.path() / "ptxas");
  cuda().fail("cuLinkAddData_v2", 218, 0);
  fake::Problem problem;
  stderr_of([&] { problem = fake::problem_of([&] { run<69>(stream); }); });
  CHECK(
      problem.has("assembling kernel 'add', PTX 8.0 for sm_90, with the assembler of driver 12.0 failed: "
                  "CUDA_ERROR_INVALID_PTX"));
  CHECK(problem.where.line == kLaunchLine);
}
