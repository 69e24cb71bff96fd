// EXPECT: a tile has no truth value while the kernel is recorded
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 if (x > 0) return;  // HERE
               }};
