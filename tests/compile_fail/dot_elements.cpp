// EXPECT: dot\(a, b\): the element types differ
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = cast<f16>(load<BN, BK>(a, {0, 0}));
                 store(c, {0, 0}, dot(x, y));  // HERE
               }};
