// EXPECT: a mask is an i1 tile: write a comparison
#include "prelude.h"

const Kernel k{"k", [](Ptr<f32> p) {
                 auto i = arange<BM>();
                 store(p + i, load(p + i, i));  // HERE
               }};
