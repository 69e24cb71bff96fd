// EXPECT: the body returns nothing: results go through a Var
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 when(a.extent(0) > 1, [&] { return 1; });  // HERE
               }};
