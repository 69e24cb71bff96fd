// EXPECT: a kernel's parameters are Ptr<T>, View<T, R> and Scalar<T>
#include "prelude.h"

const Kernel k{"k", [](View<f32, 1>, int) {}};  // HERE
