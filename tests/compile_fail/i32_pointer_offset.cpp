// EXPECT: offsets from a pointer count elements in i64
#include "prelude.h"

const Kernel k{"k", [](Ptr<f32> p) {
                 auto x = load(p + cast<i32>(arange<BM>()));  // HERE
                 (void)x;
               }};
