// EXPECT: select's condition is an i1 tile: write a comparison
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = select(x, x, 0);  // HERE
                 (void)y;
               }};
