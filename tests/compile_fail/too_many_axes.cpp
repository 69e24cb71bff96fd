// EXPECT: a tile has at most 5 axes
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = zeros<f32, 1, 2, 3, 4, 5, 6>();  // HERE
                 (void)x;
               }};
