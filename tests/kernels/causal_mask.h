// Scores above the diagonal become minus infinity. Pointers and a mask of two dims: nothing above the
// diagonal is read, nothing beyond the matrix is written.
#pragma once

#include <cmath>

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel causal_mask{
    "causal_mask", [](Ptr<const f32> x, Ptr<f32> out, Scalar<i64> rows, Scalar<i64> columns,
                      Scalar<i64> x_stride, Scalar<i64> out_stride) {
      auto i = expand<1>(program_id(0) * ROWS + arange<ROWS>());
      auto j = expand<0>(program_id(1) * COLS + arange<COLS>());
      auto live = (i < rows) & (j < columns);
      store(out + i * out_stride + j, load(x + i * x_stride + j, live & (j <= i), -INFINITY), live);
    }};

}  // namespace kernels
