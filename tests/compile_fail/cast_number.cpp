// EXPECT: a C\+\+ number becomes one with constant<T>\(x\)
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto y = cast<f32>(1);  // HERE
               }};
