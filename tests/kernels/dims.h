// The tile extents that the kernels here share.
#pragma once

#include "dsl/heddle.h"

namespace kernels {

using namespace heddle;

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);
HEDDLE_DIM(ROWS);
HEDDLE_DIM(COLS);
HEDDLE_DIM(RANK);

}  // namespace kernels
