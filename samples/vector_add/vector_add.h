// Vector addition, SPMD: each program instance adds one block, with a mask for the end.
#pragma once

#include <heddle/heddle.h>

namespace sample {

using namespace heddle;

HEDDLE_DIM(BLOCK);

inline const Kernel vector_add{"vector_add",
                               [](Ptr<const f32> x, Ptr<const f32> y, Ptr<f32> out, Scalar<i64> n) {
                                 auto i = program_id(0) * BLOCK + arange<BLOCK>();
                                 auto live = i < n;
                                 store(out + i, load(x + i, live) + load(y + i, live), live);
                               }};

}  // namespace sample
