// The sample GEMM: C = A * B. Any transposes come through the views' strides.
#pragma once

#include <heddle/heddle.h>

namespace sample {

using namespace heddle;

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);

template <class T>
const Kernel gemm{"gemm", [](View<const T, 2> a, View<const T, 2> b, View<T, 2> c) {
                    auto [m, n] = tile_id<BM, BN>(c);
                    Var acc = zeros<accumulator_of<T>, BM, BN>();
                    for (auto k : reduction(a.extent(1), BK))
                      acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
                    store(c, {m, n}, cast<T>(acc));
                  }};

}  // namespace sample
