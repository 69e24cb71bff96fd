// EXPECT: the tile's element type is not the view's
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 store(c, {0, 0}, cast<bf16>(x));  // HERE
               }};
