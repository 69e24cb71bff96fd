// EXPECT: the operands' element types differ
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = select(x > 0, x, cast<f16>(x));  // HERE
                 (void)y;
               }};
