// EXPECT: decides in C\+\+, before the kernel runs: write \|
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = (x > 0) || (x < 1);  // HERE
                 (void)y;
               }};
