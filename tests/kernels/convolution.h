// Convolution along time, out[t, o] = sum over r and i of x[t + r - R / 2, i] * w[r, i, o]: a reduction
// inside a range. Times before the first and after the last read as zero.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel convolution{"convolution", [](View<const f32, 2> x, View<const f32, 3> w, View<f32, 2> out) {
                           auto [t, o] = tile_id<BM, BN>(out);
                           Var acc = zeros<f32, BM, BN>();
                           for (auto r : range(w.extent(0)))
                             for (auto i : reduction(w.extent(1), BK))
                               acc += dot(load<BM, BK>(x, {t + r - w.extent(0) / 2, i}),
                                          load<BK, BN>(w, {r, i, o}));
                           store(out, {t, o}, acc);
                         }};

}  // namespace kernels
