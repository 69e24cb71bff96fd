// A product of i8 added to what was there.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel integer_gemm{
    "integer_gemm", [](View<const i8, 2> a, View<const i8, 2> b, View<const i32, 2> start, View<i32, 2> c) {
      auto [m, n] = tile_id<BM, BN>(c);
      Var acc = load<BM, BN>(start, {m, n});
      for (auto k : reduction(a.extent(1), BK)) acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
      store(c, {m, n}, acc);
    }};

}  // namespace kernels
