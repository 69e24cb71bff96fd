// EXPECT: ! is for i1: write x == 0
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = !x;  // HERE
                 (void)y;
               }};
