// A product and the product of magnitudes that bounds its rounding error: two accumulators in one loop.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

const Kernel two_dots{"two_dots",
                      [](View<const f32, 2> a, View<const f32, 2> b, View<f32, 2> c, View<f32, 2> magnitude) {
                        auto [m, n] = tile_id<BM, BN>(c);
                        Var product = zeros<f32, BM, BN>();
                        Var size = zeros<f32, BM, BN>();
                        for (auto k : reduction(a.extent(1), BK)) {
                          auto x = load<BM, BK>(a, {m, k});
                          auto y = load<BK, BN>(b, {k, n});
                          product += dot(x, y);
                          size += dot(abs(x), abs(y));
                        }
                        store(c, {m, n}, product);
                        store(magnitude, {m, n}, size);
                      }};

}  // namespace kernels
