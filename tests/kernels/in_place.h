// Kernels that write the view they read: a scale for each column and a shift, and a softmax of each row.
#pragma once

#include <cmath>

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel affine{"affine", [](View<f32, 2> x, View<const f32, 1> scale, Scalar<f32> shift) {
                      auto [i, j] = tile_id<ROWS, COLS>(x);
                      store(x, {i, j},
                            load<ROWS, COLS>(x, {i, j}) * expand<0>(load<COLS>(scale, {j})) + shift);
                    }};

const Kernel softmax_in_place{"softmax_in_place", [](View<f32, 2> x) {
                                auto [row] = tile_id<1>(x.extent(0));
                                auto scores = load<COLS>(x, {row, 0}, -INFINITY);
                                auto e = exp(scores - max<0>(scores));
                                store(x, {row, 0}, e / sum<0>(e));
                              }};

}  // namespace kernels
