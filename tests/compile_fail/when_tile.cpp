// EXPECT: the condition is a tile, and control flow needs a scalar
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 when(x > 0, [&] {});  // HERE
               }};
