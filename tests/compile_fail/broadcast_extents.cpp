// EXPECT: x has an extent that is neither 1 nor the one asked for
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = broadcast<BN, BN>(x);  // HERE
                 (void)y;
               }};
