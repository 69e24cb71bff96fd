// EXPECT: the extents are not those of the pointers, nor 1
#include "prelude.h"

const Kernel k{"k", [](Ptr<f32> p) {
                 store(p + arange<BM>(), full<f32, BN>(1));  // HERE
               }};
