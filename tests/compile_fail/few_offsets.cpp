// EXPECT: a view takes one offset for each of its axes
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0});  // HERE
                 (void)x;
               }};
