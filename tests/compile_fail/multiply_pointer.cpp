// EXPECT: pointers have \+ and - with i64 offsets, no more
#include "prelude.h"

const Kernel k{"k", [](Ptr<f32> p) {
                 auto q = p * 2;  // HERE
               }};
