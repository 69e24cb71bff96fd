// EXPECT: the Var's element type differs from the value's
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 Var sum = zeros<f32, BM, BN>();
                 sum = cast<f64>(x);  // HERE
               }};
