// EXPECT: the axis has an extent other than 1
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = squeeze<0>(x);  // HERE
                 (void)y;
               }};
