// EXPECT: an offset, extent or bound is a scalar, not a tile
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {arange<BM>(), 0});  // HERE
                 (void)x;
               }};
