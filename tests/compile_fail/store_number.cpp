// EXPECT: what is stored to a view is a tile
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 store(c, {0, 0}, 1.0f);  // HERE
               }};
