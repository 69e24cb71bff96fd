// What a repeated launch costs the calling thread, against a bare cuLaunchKernel of an empty kernel with the
// same arguments on the same stream. Where there is no GPU, the tests' fake driver shows our own part alone:
//   LD_LIBRARY_PATH=build/tests/fake_cuda/driver FAKE_CUDA_IDLE=1 build/bench/launch_cost
#include <dlfcn.h>
#include <heddle/heddle.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "statistics.h"

namespace {

using namespace heddle;

HEDDLE_DIM(BLOCK);
HEDDLE_DIM(BM);
HEDDLE_DIM(BN);

// Hardly any work, so that the device keeps up with the launches.
const Kernel add{"add", [](Ptr<const f32> x, Ptr<const f32> y, Ptr<f32> out, Scalar<i64> n) {
                   auto i = program_id(0) * BLOCK + arange<BLOCK>();
                   auto live = i < n;
                   store(out + i, load(x + i, live) + load(y + i, live), live);
                 }};

using In = Ptr<const f32>;
using Number = Scalar<i64>;
const Kernel many{"many",
                  [](In a, In b, In c, In d, In e, In f, In g, In h, In i, Ptr<f32> out, Number n0, Number n1,
                     Number n2, Number n3, Number n4, Number n5, Number n6, Number n7, Number n8, Number n9) {
                    auto at = program_id(0) * BLOCK + arange<BLOCK>();
                    auto live = at < n0 + n1 + n2 + n3 + n4 + n5 + n6 + n7 + n8 + n9;
                    auto left = load(a + at, live) + load(b + at, live) + load(c + at, live);
                    auto middle = load(d + at, live) + load(e + at, live) + load(f + at, live);
                    auto right = load(g + at, live) + load(h + at, live) + load(i + at, live);
                    store(out + at, left + middle + right, live);
                  }};

const Kernel add_views{"add_views", [](View<const f32, 2> x, View<const f32, 2> y, View<f32, 2> out) {
                         auto [m, n] = tile_id<BM, BN>(out);
                         store(out, {m, n}, load<BM, BN>(x, {m, n}) + load<BM, BN>(y, {m, n}));
                       }};

// The few calls that a host program needs to launch without Heddle.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (!library_) throw std::runtime_error("there is no libcuda.so.1");
    check(function<int(unsigned)>("cuInit")(0), "cuInit");
    check(function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, 0), "cuDevicePrimaryCtxRetain");
    make_current(true);
  }

  // The device's context on this thread, or none.
  void make_current(bool context) const {
    check(function<int(void*)>("cuCtxSetCurrent")(context ? context_ : nullptr), "cuCtxSetCurrent");
  }

  // A kernel of `parameters` 8-byte parameters that does nothing.
  void* empty_kernel(int parameters) const {
    std::string ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry empty(";
    for (int i = 0; i < parameters; ++i) ptx += (i ? ", .param .u64 p" : ".param .u64 p") + std::to_string(i);
    ptx += ") { ret; }\n";
    void *module = nullptr, *kernel = nullptr;
    check(function<int(void**, const void*)>("cuModuleLoadData")(&module, ptx.c_str()), "cuModuleLoadData");
    check(function<int(void**, void*, const char*)>("cuModuleGetFunction")(&kernel, module, "empty"),
          "cuModuleGetFunction");
    return kernel;
  }

  // Of one CTA of 128 threads.
  void launch(void* kernel, void* stream, void** parameters) const {
    if (const int result = launch_(kernel, 1, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr))
      check(result, "cuLaunchKernel");
  }

 private:
  static void check(int result, const char* what) {
    if (result) throw std::runtime_error(std::string(what) + " gives " + std::to_string(result));
  }
  template <class F>
  F* function(const char* name) const {
    void* found = dlsym(library_, name);
    if (!found) throw std::runtime_error(std::string("libcuda.so.1 lacks ") + name);
    return reinterpret_cast<F*>(found);
  }

  void* library_;
  void* context_ = nullptr;
  int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                 void**) = function<std::remove_pointer_t<decltype(launch_)>>("cuLaunchKernel");
};

struct Options {
  int pairs = 31;
  int batch = 200;  // launches between waits; a stream holds about a thousand before a launch has to wait
  double limit = 0;
  std::string only;
};

// Whether the device's context is current when our launches begin: in programs that use CUDA themselves it
// is.
enum class Context { current, none };

// Times both in turns and prints one line. False where the ratio is above the limit.
template <class Ours, class Bare>
bool compare(const char* name, const Options& options, const Driver& driver, Stream& stream, Ours ours,
             Bare bare, Context context = Context::current) {
  if (!options.only.empty() && options.only != name) return true;
  const auto batch = [&](const auto& launch, Context held) {
    driver.make_current(held == Context::current);
    const double ms = bench::milliseconds([&] {
      for (int i = 0; i < options.batch; ++i) launch();
    });
    stream.synchronize();
    return ms * 1e6 / options.batch;
  };
  const auto batch_ours = [&] { return batch(ours, context); };
  const auto batch_bare = [&] { return batch(bare, Context::current); };
  batch_ours(), batch_bare();
  std::vector<double> our_ns, bare_ns, ratios, own_ns;
  for (int i = 0; i < options.pairs; ++i) {
    const bool ours_first = i % 2 == 0;
    const double first = ours_first ? batch_ours() : batch_bare();
    const double second = ours_first ? batch_bare() : batch_ours();
    our_ns.push_back(ours_first ? first : second), bare_ns.push_back(ours_first ? second : first);
    ratios.push_back(our_ns.back() / bare_ns.back()), own_ns.push_back(our_ns.back() - bare_ns.back());
  }
  const double ratio = bench::median(ratios);
  std::printf("%-32s %7.0f ns  bare %7.0f ns  ratio %6.3f ±%.1f %%  own %6.0f ns ±%.0f\n", name,
              bench::median(our_ns), bench::median(bare_ns), ratio,
              100 * bench::half_interval(ratios) / ratio, bench::median(own_ns),
              bench::half_interval(own_ns));
  return options.limit == 0 || ratio <= options.limit;
}

int run(const Options& options) {
  Stream stream(Device::cuda(0));
  const Driver driver;
  constexpr int64_t n = 64;
  Buffer<f32> memory(stream.device(), 1024);
  f32* x = memory.data();
  f32* y = x + 256;
  f32* out = x + 512;
  const Schedule narrow{.dims = {BLOCK = 128}};
  bool held = true;

  void* empty4 = driver.empty_kernel(4);
  const auto bare4 = [&] {
    int64_t count = n;
    void* parameters[] = {&x, &y, &out, &count};
    driver.launch(empty4, stream.native(), parameters);
  };
  held &= compare(
      "4 arguments", options, driver, stream, [&] { add.with(narrow).grid(1)(stream, x, y, out, n); }, bare4);
  const auto prepared = add.with(narrow).grid(1);
  held &= compare(
      "4 arguments, launcher kept", options, driver, stream, [&] { prepared(stream, x, y, out, n); }, bare4);
  held &= compare(
      "4 arguments, no context current", options, driver, stream,
      [&] { add.with(narrow).grid(1)(stream, x, y, out, n); }, bare4, Context::none);

  void* empty20 = driver.empty_kernel(20);
  held &= compare(
      "20 arguments", options, driver, stream,
      [&] {
        many.with(narrow).grid(1)(stream, x, x, x, x, x, y, y, y, y, out, n, n, n, n, n, n, n, n, n, n);
      },
      [&] {
        int64_t count[] = {n, n, n, n, n, n, n, n, n, n};
        void* parameters[] = {&x,        &x,        &x,        &x,        &x,        &y,        &y,
                              &y,        &y,        &out,      &count[0], &count[1], &count[2], &count[3],
                              &count[4], &count[5], &count[6], &count[7], &count[8], &count[9]};
        driver.launch(empty20, stream.native(), parameters);
      });

  const TensorRef<f32, 2> view_x(x, {8, 8}), view_y(y, {8, 8}), view_out(out, {8, 8});
  void* empty15 = driver.empty_kernel(15);
  const auto bare15 = [&] {
    TensorRef<f32, 2> views[] = {view_x, view_y, view_out};
    void* parameters[15];
    int count = 0;
    for (TensorRef<f32, 2>& view : views)
      for (void* field : std::initializer_list<void*>{&view.data, &view.extents[0], &view.extents[1],
                                                      &view.strides[0], &view.strides[1]})
        parameters[count++] = field;
    driver.launch(empty15, stream.native(), parameters);
  };
  const Schedule small{.dims = {BM = 8, BN = 16}};
  held &= compare(
      "3 views", options, driver, stream, [&] { add_views.with(small)(stream, view_x, view_y, view_out); },
      bare15);
  held &= compare(
      "3 views, schedule by rule", options, driver, stream,
      [&] { add_views(stream, view_x, view_y, view_out); }, bare15);
  return held ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Host time of a repeated launch on cuda:0, against a bare cuLaunchKernel");
  app.add_option("--pairs", options.pairs, "interleaved pairs")
      ->capture_default_str()
      ->check(CLI::Range(15, 1000000));
  app.add_option("--batch", options.batch, "launches between waits")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app.add_option("--only", options.only, "this line alone, say '4 arguments'");
  app.add_option("--limit", options.limit, "exit with 1 if a ratio is above this");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
