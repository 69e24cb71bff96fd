// EXPECT: a tile is a value and can't be (assigned to|changed): what changes is a Var
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 x += x;  // HERE
               }};
