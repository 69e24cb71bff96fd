// The five-point Laplacian. Neighbours outside the grid, at negative offsets too, read as zero.
#pragma once

#include "tests/kernels/dims.h"

namespace kernels {

template <class T>
const Kernel laplacian{"laplacian", [](View<const T, 2> u, View<T, 2> out) {
                         auto [i, j] = tile_id<ROWS, COLS>(out);
                         auto at = [&](int di, int dj) { return load<ROWS, COLS>(u, {i + di, j + dj}); };
                         store(out, {i, j}, at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4 * at(0, 0));
                       }};

}  // namespace kernels
