// The L2 norm of each row, a chunk of columns at a time: a loop without a dot.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel row_norm{"row_norm", [](View<const f32, 2> x, View<f32, 1> norm) {
                        auto [row] = tile_id<ROWS>(norm);
                        Var squares = zeros<f32, ROWS, 1>();
                        for (auto column : reduction(x.extent(1), COLS)) {
                          auto chunk = load<ROWS, COLS>(x, {row, column});
                          squares += sum<1>(chunk * chunk);
                        }
                        store(norm, {row}, squeeze<1>(sqrt(squares)));
                      }};

}  // namespace kernels
