// EXPECT: a is \[M, K\] and b is \[K, N\]
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 store(c, {0, 0}, dot(x, x));  // HERE
               }};
