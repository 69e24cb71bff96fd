// The largest element of each row and the sum of each column of A[i] * B, for a batch of small A.
// One tile covers a product, and is reduced along both axes.
#pragma once

#include <cmath>

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel dot_reductions{"dot_reductions", [](View<const f32, 3> a, View<const f32, 2> b,
                                                 View<f32, 2> row_max, View<f32, 2> column_sum) {
                              auto [batch] = tile_id<1>(a.extent(0));
                              Var c = zeros<f32, ROWS, COLS>();
                              for (auto k : reduction(a.extent(2), BK))
                                c += dot(load<ROWS, BK>(a, {batch, 0, k}), load<BK, COLS>(b, {k, 0}));
                              auto row = expand<1>(arange<ROWS>()) < a.extent(1);
                              auto column = expand<0>(arange<COLS>()) < b.extent(1);
                              store(row_max, {batch, 0}, squeeze<1>(max<1>(select(column, c, -INFINITY))));
                              store(column_sum, {batch, 0}, squeeze<0>(sum<0>(select(row, c, 0))));
                            }};

}  // namespace kernels
