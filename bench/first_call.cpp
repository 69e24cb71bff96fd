// What the first call costs, by processes of its own: this program starts itself again for each measurement.
// On the CPU: tracing and compiling cold, and a fresh process with a warm cache against the same product by
// OpenBLAS in a fresh process, ours and the peer's in turns.
// --target cuda: how the time from the start of a process to its first result on a GPU divides, cold and
// with a warm cache. Over the tests' fake driver all steps are taken, but the result is not there:
//   LD_LIBRARY_PATH=build/tests/fake_cuda/driver build/bench/first_call --target cuda
#include <dlfcn.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "common/blas.h"
#include "gemm/gemm.h"
#include "statistics.h"

namespace {

using namespace heddle;

constexpr int64_t kSize = 256;

int child_ours() {
  Stream stream(Device::cpu());
  std::vector<float> a(kSize * kSize, 1.0f), b(kSize * kSize, 0.5f), c(kSize * kSize);
  const TensorRef<float, 2> view_a(a.data(), {kSize, kSize}), view_b(b.data(), {kSize, kSize}),
      view_c(c.data(), {kSize, kSize});
  sample::gemm<f32>(stream, view_a, view_b, view_c);
  const runtime::LaunchReport report = runtime::last_launch();
  std::printf("%d %.3f %.3f\n", int(report.cache_hit), report.trace_ms, report.compile_ms);
  return c[0] == 128.0f && c.back() == 128.0f ? 0 : 1;
}

int child_peer() {
  std::vector<float> a(kSize * kSize, 1.0f), b(kSize * kSize, 0.5f), c(kSize * kSize);
  const sample::Blas* blas = sample::Blas::open();
  if (!blas) return 3;
  blas->multiply(false, false, kSize, kSize, kSize, a.data(), kSize, b.data(), kSize, c.data(), kSize);
  return c[0] == 128.0f ? 0 : 1;
}

// The steps of a first call on a GPU, in order. Their times are what a child prints.
constexpr const char* kGpuSteps[] = {
    "open and initialise the driver (cuInit)",
    "make the device's context",
    "look at the device, make a stream",
    "allocate and fill three matrices",
    "choose a schedule, trace and lower",
    "code to PTX (LLVM), or from the cache",
    "PTX to a cubin (assembler), or from the cache",
    "load the cubin",
    "the rest of preparing",
    "launch and wait",
    "fetch the result",
};
constexpr int kGpuStepCount = int(std::size(kGpuSteps));

// The driver's own part of the start, by hand. False where there is no driver or no GPU.
bool start_driver(double& init_ms, double& context_ms) {
  using bench::milliseconds;
  void* library = nullptr;
  bool good = false;
  init_ms = milliseconds([&] {
    library = dlopen("libcuda.so.1", RTLD_NOW);
    auto* init = library ? reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit")) : nullptr;
    good = init && init(0) == 0;
  });
  if (!good) return false;
  auto* retain = reinterpret_cast<int (*)(void**, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  context_ms = milliseconds([&] {
    void* context = nullptr;
    good = retain && retain(&context, 0) == 0;
  });
  return good;
}

int child_gpu() {
  using bench::milliseconds;
  double ms[kGpuStepCount] = {};
  if (!start_driver(ms[0], ms[1])) return 3;
  std::optional<Stream> stream;
  ms[2] = milliseconds([&] { stream.emplace(Device::cuda(0)); });
  const std::vector<float> a(kSize * kSize, 1.0f), b(kSize * kSize, 0.5f);
  std::vector<float> c(kSize * kSize);
  std::optional<Buffer<f32>> on_gpu[3];
  ms[3] = milliseconds([&] {
    for (auto& buffer : on_gpu) buffer.emplace(stream->device(), kSize * kSize);
    on_gpu[0]->upload(*stream, a.data());
    on_gpu[1]->upload(*stream, b.data());
  });
  const auto call = [&](auto&& kernel) {
    kernel(*stream, on_gpu[0]->view(kSize, kSize), on_gpu[1]->view(kSize, kSize),
           on_gpu[2]->view(kSize, kSize));
  };
  const double preparing =
      milliseconds([&] { call([](auto&&... arguments) { sample::gemm<f32>.prepare(arguments...); }); });
  const runtime::LaunchReport report = runtime::last_launch();
  ms[4] = report.trace_ms, ms[5] = report.codegen_ms, ms[6] = report.assemble_ms, ms[7] = report.load_ms;
  ms[8] = preparing - ms[4] - ms[5] - ms[6] - ms[7];
  ms[9] = milliseconds([&] {
    call(sample::gemm<f32>);
    stream->synchronize();
  });
  ms[10] = milliseconds([&] { on_gpu[2]->download(*stream, c.data()); });
  std::printf("%d %d", int(report.cache_hit), int(c[0] == 128.0f && c.back() == 128.0f));
  for (const double step : ms) std::printf(" %.4f", step);
  std::printf("\n%s\n%s\n", stream->device().name(), runtime::describe(report.gpu));
  return 0;
}

// Runs this program again as `role`; what it printed, and how long it lived.
struct Child {
  int status = -1;
  double ms = 0;
  std::string output;
};

Child run_child(const char* role) {
  Child child;
  child.ms = bench::milliseconds([&] {
    const std::string command =
        std::string(std::filesystem::read_symlink("/proc/self/exe")) + " --role " + role;
    FILE* pipe = popen(command.c_str(), "r");
    char line[256] = "";
    while (pipe && std::fgets(line, sizeof line, pipe)) child.output += line;
    child.status = pipe ? pclose(pipe) : -1;
  });
  return child;
}

int fail_child(const char* what, const Child& child) {
  std::fprintf(stderr, "%s failed with status %d\n", what, child.status);
  return 1;
}

// Medians of one kind of start, cold or cached; the last row is the process's own.
struct GpuStarts {
  std::vector<double> steps[kGpuStepCount], process, all;
  bool right = true;
  std::string words;  // device, code

  bool add(const Child& child, bool cached) {
    std::istringstream in(child.output);
    bool hit = false, result = false;
    if (child.status != 0 || !(in >> hit >> result) || hit != cached) return false;
    double sum = 0;
    for (auto& step : steps) {
      double ms = 0;
      if (!(in >> ms)) return false;
      step.push_back(ms), sum += ms;
    }
    std::getline(in >> std::ws, words, '\0');
    process.push_back(child.ms - sum), all.push_back(child.ms);
    right = right && result;
    return true;
  }
};

int measure_gpu(int pairs, const char* folder) {
  // Else the driver would keep what it assembles too, and only the first start would be cold.
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  GpuStarts cold, cached;
  for (int i = 0; i < pairs; ++i) {
    std::filesystem::remove_all(folder);
    for (GpuStarts* starts : {&cold, &cached}) {
      const Child child = run_child("gpu");
      if (WIFEXITED(child.status) && WEXITSTATUS(child.status) == 3)
        return std::fprintf(stderr, "there is no NVIDIA driver, or no GPU\n"), 2;
      if (!starts->add(child, starts == &cached)) return fail_child("a start", child);
    }
  }
  std::printf("%s", cold.words.c_str());
  std::printf("%-50s %10s %10s   ms, medians of %d starts each\n", "", "cold", "cached", pairs);
  const auto row = [](const char* name, const std::vector<double>& first, const std::vector<double>& second) {
    std::printf("%-50s %10.2f %10.2f\n", name, bench::median(first), bench::median(second));
  };
  for (int i = 0; i < kGpuStepCount; ++i) row(kGpuSteps[i], cold.steps[i], cached.steps[i]);
  row("start and end of the process", cold.process, cached.process);
  row("all", cold.all, cached.all);
  if (!cold.right || !cached.right) return std::fprintf(stderr, "results were WRONG\n"), 1;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string role;
  int pairs = 15;
  double compile_limit = 0, start_limit = 0;
  std::string target = "cpu";
  CLI::App app("Costs of the first call of a GEMM, cold and cached");
  app.add_option("--target", target, "cpu or cuda")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--role", role)->group("");  // the children's
  app.add_option("--pairs", pairs, "interleaved pairs")->capture_default_str()->check(CLI::Range(15, 1000));
  app.add_option("--compile-limit", compile_limit, "exit with 1 if trace to object code takes longer, in ms");
  app.add_option("--start-limit", start_limit,
                 "exit with 1 if a cached start takes this much longer than the peer's, in ms");
  CLI11_PARSE(app, argc, argv);
  if (role == "ours") return child_ours();
  if (role == "peer") return child_peer();
  if (role == "gpu") return child_gpu();

  char folder[] = "/tmp/heddle-first-call-XXXXXX";
  if (!mkdtemp(folder)) return std::perror("mkdtemp"), 2;
  setenv("HEDDLE_CACHE_DIR", folder, 1);
  if (target == "cuda") {
    const int status = measure_gpu(pairs, folder);
    std::filesystem::remove_all(folder);
    return status;
  }
  std::vector<double> traces, compiles, cold;
  for (int i = 0; i < pairs; ++i) {
    std::filesystem::remove_all(folder);
    const Child child = run_child("ours");
    int hit = 1;
    double trace = 0, compile = 0;
    if (child.status != 0 || std::sscanf(child.output.c_str(), "%d %lf %lf", &hit, &trace, &compile) != 3 ||
        hit)
      return fail_child("a cold start", child);
    traces.push_back(trace), compiles.push_back(compile), cold.push_back(trace + compile);
  }
  std::vector<double> ours, peers, differences;
  const bool have_peer = run_child("peer").status == 0;
  for (int i = 0; i < pairs; ++i) {
    const Child child = run_child("ours");
    if (child.status != 0 || child.output.empty() || child.output[0] != '1')
      return fail_child("a cached start", child);
    ours.push_back(child.ms);
    if (!have_peer) continue;
    const Child peer = run_child("peer");
    if (peer.status != 0) return fail_child("the peer", peer);
    peers.push_back(peer.ms), differences.push_back(child.ms - peer.ms);
  }
  std::filesystem::remove_all(folder);

  std::printf("trace to object code, cold    %.1f ms ±%.1f (trace %.2f, compile and load %.1f)\n",
              bench::median(cold), bench::half_interval(cold), bench::median(traces),
              bench::median(compiles));
  std::printf("process start to cached result %.1f ms ±%.1f\n", bench::median(ours),
              bench::half_interval(ours));
  bool held = compile_limit == 0 || bench::median(cold) <= compile_limit;
  if (have_peer) {
    std::printf("  OpenBLAS, the same            %.1f ms ±%.1f, ours takes %.1f ms more ±%.1f\n",
                bench::median(peers), bench::half_interval(peers), bench::median(differences),
                bench::half_interval(differences));
    held = held && (start_limit == 0 || bench::median(differences) <= start_limit);
  } else {
    std::printf("  OpenBLAS is not installed: nothing to compare with\n");
  }
  return held ? 0 : 1;
}
