// (A * B) transposed, through a transposed tile.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel transposed_gemm{"transposed_gemm",
                             [](View<const f32, 2> a, View<const f32, 2> b, View<f32, 2> c) {
                               auto [m, n] = tile_id<BM, BN>(a.extent(0), b.extent(1));
                               Var acc = zeros<f32, BM, BN>();
                               for (auto k : reduction(a.extent(1), BK))
                                 acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
                               store(c, {n, m}, transpose(acc));
                             }};

}  // namespace kernels
