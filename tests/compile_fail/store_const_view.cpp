// EXPECT: View<const T, R> is read-only: make the parameter a View<T, R>
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2> a, View<f32, 2> c) {
                 auto x = load<BM, BN>(a, {0, 0});
                 store(a, {0, 0}, x);  // HERE
               }};
