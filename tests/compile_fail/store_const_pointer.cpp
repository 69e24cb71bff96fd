// EXPECT: Ptr<const T> is read-only: make the parameter a Ptr<T>
#include "prelude.h"

const Kernel k{"k", [](Ptr<const f32> p) {
                 store(p + 0, load(p + 1));  // HERE
               }};
