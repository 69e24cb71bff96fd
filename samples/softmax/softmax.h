// Softmax of each row of a matrix. COLS covers a row; lanes beyond its end read minus infinity, and so weigh
// nothing.
#pragma once

#include <heddle/heddle.h>

#include <cmath>

namespace sample {

using namespace heddle;

HEDDLE_DIM(COLS);

template <class T>
const Kernel softmax{"softmax", [](View<const T, 2> in, View<T, 2> out) {
                       auto [row] = tile_id<1>(out.extent(0));
                       auto x = cast<f32>(load<COLS>(in, {row, 0}, -INFINITY));
                       auto e = exp(x - max<0>(x));
                       store(out, {row, 0}, cast<T>(e / sum<0>(e)));
                     }};

}  // namespace sample
