// EXPECT: the first argument is a pointer \(Ptr<T>, or p \+ offsets\) or a View
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 auto y = load(x);  // HERE
               }};
