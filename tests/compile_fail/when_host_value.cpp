// EXPECT: the condition is a host value
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 when(true, [&] {});  // HERE
               }};
