// EXPECT: the operands' element types differ, and nothing converts by itself: write cast<T>\(x\)
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 store(c, {0, 0}, x + cast<f16>(x));  // HERE
               }};
