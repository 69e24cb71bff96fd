// EXPECT: cast<T>\(x\): T is i1, i8, i32, i64
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = cast<unsigned>(x);  // HERE
               }};
