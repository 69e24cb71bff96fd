// EXPECT: the axis is between 0 and x's rank
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = expand<3>(x);  // HERE
               }};
