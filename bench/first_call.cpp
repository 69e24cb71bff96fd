// What the first call costs: tracing and compiling cold, and a fresh process with a warm cache against the
// same product by OpenBLAS in a fresh process. Starts itself again for each measurement, ours and the peer's
// in turns.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
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

// Runs this program again as `role`; its first line of output, and how long it lived.
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
    if (pipe && std::fgets(line, sizeof line, pipe)) child.output = line;
    child.status = pipe ? pclose(pipe) : -1;
  });
  return child;
}

int fail_child(const char* what, const Child& child) {
  std::fprintf(stderr, "%s failed with status %d\n", what, child.status);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::string role;
  int pairs = 15;
  double compile_limit = 0, start_limit = 0;
  CLI::App app("Costs of the first call of a GEMM on the CPU, cold and cached");
  app.add_option("--role", role)->group("");  // the children's
  app.add_option("--pairs", pairs, "interleaved pairs")->capture_default_str()->check(CLI::Range(15, 1000));
  app.add_option("--compile-limit", compile_limit, "exit with 1 if trace to object code takes longer, in ms");
  app.add_option("--start-limit", start_limit,
                 "exit with 1 if a cached start takes this much longer than the peer's, in ms");
  CLI11_PARSE(app, argc, argv);
  if (role == "ours") return child_ours();
  if (role == "peer") return child_peer();

  char folder[] = "/tmp/heddle-first-call-XXXXXX";
  if (!mkdtemp(folder)) return std::perror("mkdtemp"), 2;
  setenv("HEDDLE_CACHE_DIR", folder, 1);
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
