// EXPECT: a Var has no truth value while the kernel is recorded
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 Var done = constant<i1>(false);
                 while (done) return;  // HERE
               }};
