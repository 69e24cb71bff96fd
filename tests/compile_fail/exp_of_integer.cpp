// EXPECT: this function is for floats alone: cast<f32>\(x\) first
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto y = exp(arange<BM>());  // HERE
                 (void)y;
               }};
