// Nothing is wrong here: what makes the refusals next to it worth something.
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 Var sum = zeros<f32, BM, BN>();
                 for (auto i : range(4)) sum += x * cast<f32>(i);
                 when(a.extent(0) > 1, [&] { sum = select(sum > 0, sum, 0); });
                 store(c, {0, 0}, sum + x);
               }};

void f(Stream& stream, TensorRef<f32, 2> x) {
  k(stream, x, x);
}
