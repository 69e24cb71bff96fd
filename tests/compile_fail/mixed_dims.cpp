// EXPECT: the operands' extents differ: an extent agrees with the same dim
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = load<BN, BM>(a, {0, 0});
                 store(c, {0, 0}, x + y);  // HERE
               }};
