// EXPECT: a < b < c compares the i1 result
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = 0.0f < x < x;  // HERE
                 (void)y;
               }};
