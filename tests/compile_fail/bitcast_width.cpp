// EXPECT: bitcast keeps the width
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = bitcast<i64>(x);  // HERE
                 (void)y;
               }};
