// EXPECT: f8 types are for storage alone: cast<f32>\(x\) first
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = cast<f8e4m3>(x);
                 auto z = y + y;  // HERE
                 (void)z;
               }};
