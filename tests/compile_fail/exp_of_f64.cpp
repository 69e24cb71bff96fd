// EXPECT: exp, log, sin and their kin are for f16, bf16 and f32
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = exp(cast<f64>(x));  // HERE
                 (void)y;
               }};
