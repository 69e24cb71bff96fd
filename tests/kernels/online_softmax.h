// Softmax statistics in one pass over the columns: the largest score, the logarithm of the summed weights,
// and the weighted mean of values. Three variables change together.
#pragma once

#include <cmath>

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel online_softmax{"online_softmax",
                            [](View<const f32, 2> score, View<const f32, 1> value, View<f32, 1> largest,
                               View<f32, 1> log_weight, View<f32, 1> mean) {
                              auto [row] = tile_id<ROWS>(score.extent(0));
                              Var top = full<f32, ROWS, 1>(-INFINITY);
                              Var weight = zeros<f32, ROWS, 1>();
                              Var total = zeros<f32, ROWS, 1>();
                              for (auto column : reduction(score.extent(1), COLS)) {
                                auto x = load<ROWS, COLS>(score, {row, column}, -INFINITY);
                                auto higher = max(top, max<1>(x));
                                auto keep = exp(top - higher);
                                auto e = exp(x - higher);
                                weight = weight * keep + sum<1>(e);
                                total = total * keep + sum<1>(e * expand<0>(load<COLS>(value, {column})));
                                top = higher;
                              }
                              store(largest, {row}, squeeze<1>(top));
                              store(log_weight, {row}, squeeze<1>(top + log(weight)));
                              store(mean, {row}, squeeze<1>(total / weight));
                            }};

}  // namespace kernels
