// EXPECT: the element type is f16, bf16, f32, f64 or i8
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto i = cast<i32>(x);
                 auto d = dot(i, transpose(i));  // HERE
                 (void)d;
               }};
