// EXPECT: while_'s condition is a lambda that returns it
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 while_(a.extent(0) > 1, [&] {});  // HERE
               }};
