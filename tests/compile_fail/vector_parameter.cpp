// EXPECT: a kernel's parameters are Ptr<T>, View<T, R> and Scalar<T>
#include "prelude.h"

const Kernel k{"k", [](std::vector<float>) {}};  // HERE
