// EXPECT: both tiles have two axes
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto d = dot(x, load<BN>(a, {0, 0}));  // HERE
                 (void)d;
               }};
