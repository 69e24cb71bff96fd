// C + U * V, where one tile covers the rank: a dot outside any loop, whose chain starts at C.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

template <class T>
const Kernel low_rank{"low_rank",
                      [](View<const T, 2> c, View<const T, 2> u, View<const T, 2> v, View<T, 2> out) {
                        auto [m, n] = tile_id<BM, BN>(out);
                        auto update = dot(load<BM, RANK>(u, {m, 0}), load<RANK, BN>(v, {0, n}));
                        store(out, {m, n}, load<BM, BN>(c, {m, n}) + update);
                      }};

}  // namespace kernels
