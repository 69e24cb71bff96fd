// A batch of products: the batch is the first axis of the work space, one matrix a tile.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

template <class T>
const Kernel batched_gemm{"batched_gemm", [](View<const T, 3> a, View<const T, 3> b, View<T, 3> c) {
                            auto [batch, m, n] = tile_id<1, BM, BN>(c);
                            Var acc = zeros<accumulator_of<T>, BM, BN>();
                            for (auto k : reduction(a.extent(2), BK))
                              acc += dot(load<BM, BK>(a, {batch, m, k}), load<BK, BN>(b, {batch, k, n}));
                            store(c, {batch, m, n}, cast<T>(acc));
                          }};

}  // namespace kernels
