// EXPECT: offsets, extents and bounds are i64: write cast<i64>\(x\)
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {cast<i32>(a.extent(0)), 0});  // HERE
                 (void)x;
               }};
