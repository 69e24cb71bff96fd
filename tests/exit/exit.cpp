// Kernels that ran before are launched from destructors of static objects; new ones are compiled as long as
// LLVM is there, and then refused.
#include <heddle/heddle.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace heddle;

HEDDLE_DIM(BM);
HEDDLE_DIM(BK);

// Its dot needs scratch.
const Kernel gemm{"gemm", [](View<const f32, 2> a, View<f32, 2> c) {
                    auto [m, n] = tile_id<BM, BM>(c);
                    Var acc = zeros<f32, BM, BM>();
                    for (auto k : reduction(a.extent(1), BK))
                      acc += dot(load<BM, BK>(a, {m, k}), load<BK, BM>(a, {k, n}));
                    store(c, {m, n}, acc);
                  }};

void launch(int64_t block) {
  constexpr int64_t kSize = 64;
  std::vector<f32> a(kSize * kSize, 1), c(kSize * kSize, 0);
  Stream stream(Device::cpu(), 2);
  gemm.with({.dims = {BM = block, BK = 16}})(stream, TensorRef<const f32, 2>(a.data(), {kSize, kSize}),
                                             TensorRef<f32, 2>(c.data(), {kSize, kSize}));
  for (const f32 element : c)
    if (element != kSize) std::abort();
  const runtime::LaunchReport report = runtime::last_launch();
  const DimBinding* bound = report.schedule.dims.find("BM");
  if (!bound || bound->value != block) std::abort();
}

// Destroyed when LLVM's static objects are gone.
struct Early {
  ~Early() {
    for (const int64_t block : {16, 32, 16, 32, 8}) launch(block);
    try {
      launch(4);  // whether the cache has it or not
      std::abort();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) std::abort();
      if (!std::strstr(error.message(), "the process exits, so LLVM can't ")) std::abort();
    }
    std::puts("launched at exit");
    std::fflush(stdout);
  }
} early;
// Destroyed before they are.
struct Late {
  ~Late() { launch(8); }
};

}  // namespace

int main() {
  for (const int64_t block : {16, 32}) launch(block);
  static const Late late;
}
