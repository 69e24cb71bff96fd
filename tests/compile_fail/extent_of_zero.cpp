// EXPECT: dims declared with HEDDLE_DIM, or integers of at least 1
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = zeros<f32, 0>();  // HERE
                 (void)x;
               }};
