// EXPECT: x has fewer than two axes
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto y = transpose(arange<BM>());  // HERE
               }};
