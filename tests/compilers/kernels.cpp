// The sample GEMM in four types, and a kernel whose trace is compiler-dependent wherever C++ lets it be: for
// their dumps, which must not depend on the compiler.
#include <heddle/heddle.h>

#include <cstdio>
#include <vector>

#include "samples/gemm/gemm.h"

using namespace heddle;

HEDDLE_DIM(BLOCK);

namespace {

// Operands that are operations themselves, on both sides: C++ leaves it open which is evaluated first.
const Kernel both_sides{"both_sides", [](View<const f32, 1> a, View<const f32, 1> b, View<f32, 1> out) {
                          auto [i] = tile_id<BLOCK>(out);
                          Var x = load<BLOCK>(a, {i});
                          auto sum =
                              exp(x) * log(load<BLOCK>(b, {i}) + 2.0f) -
                              select(x > load<BLOCK>(b, {i}), tanh(x), fma(x, load<BLOCK>(b, {i}), x * 3));
                          x += min(sum * 2, x + 1) + max(x, sum) * (x - 1) / (x * x + 1);
                          store(out, {i}, (x + sum) * (sum - x));
                        }};

template <class T>
void multiply(Stream& stream) {
  std::vector<T> a(40 * 50), b(50 * 60), c(40 * 60);
  sample::gemm<T>(stream, TensorRef<T, 2>(a.data(), {40, 50}), TensorRef<T, 2>(b.data(), {50, 60}),
                  TensorRef<T, 2>(c.data(), {40, 60}));
}

void run() {
  Stream stream(Device::interpreter(), 1);
  multiply<f32>(stream);
  multiply<f64>(stream);
  multiply<f16>(stream);
  multiply<bf16>(stream);

  std::vector<float> x(100, 0.5f), y(100, 0.25f), z(100);
  const TensorRef<float, 1> a(x.data(), {100}), b(y.data(), {100}), c(z.data(), {100});
  both_sides.with({.dims = {BLOCK = 32}})(stream, a, b, c);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
