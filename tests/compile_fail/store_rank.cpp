// EXPECT: the tile has more axes than the view
#include "prelude.h"

const Kernel k{"k", [](View<f32, 1> v) {
                 store(v, {0}, zeros<f32, BM, BN>());  // HERE
               }};
