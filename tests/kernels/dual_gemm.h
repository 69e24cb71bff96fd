// A gated layer, silu(A * B1) * (A * B2): both products share the loads of A.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

template <class T>
const Kernel dual_gemm{"dual_gemm",
                       [](View<const T, 2> a, View<const T, 2> b1, View<const T, 2> b2, View<T, 2> c) {
                         auto [m, n] = tile_id<BM, BN>(c);
                         Var gate = zeros<accumulator_of<T>, BM, BN>();
                         Var up = zeros<accumulator_of<T>, BM, BN>();
                         for (auto k : reduction(a.extent(1), BK)) {
                           auto x = load<BM, BK>(a, {m, k});
                           gate += dot(x, load<BK, BN>(b1, {k, n}));
                           up += dot(x, load<BK, BN>(b2, {k, n}));
                         }
                         store(c, {m, n}, cast<T>(gate * sigmoid(gate) * up));
                       }};

}  // namespace kernels
