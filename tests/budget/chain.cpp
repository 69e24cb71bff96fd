// 40 lines of `auto`, each naming an expression of the ones before: types must not grow with the chain.
#include <heddle/heddle.h>

using namespace heddle;

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);

// clang-format off
const Kernel chain{"chain", [](View<const f32, 2> a, View<f32, 2> c) {
  auto [m, n] = tile_id<BM, BN>(c);
  auto x0 = load<BM, BN>(a, {m, n});
  auto x1 = exp(x0) - x0;
  auto x2 = select(x1 < x0, x1, -x0);
  auto x3 = max(x2, x1 / 2);
  auto x4 = fma(x3, x2, x3 + x2);
  auto x5 = x4 * x3 + 1.0f;
  auto x6 = exp(x5) - x4;
  auto x7 = select(x6 < x5, x6, -x5);
  auto x8 = max(x7, x6 / 2);
  auto x9 = fma(x8, x7, x8 + x7);
  auto x10 = x9 * x8 + 1.0f;
  auto x11 = exp(x10) - x9;
  auto x12 = select(x11 < x10, x11, -x10);
  auto x13 = max(x12, x11 / 2);
  auto x14 = fma(x13, x12, x13 + x12);
  auto x15 = x14 * x13 + 1.0f;
  auto x16 = exp(x15) - x14;
  auto x17 = select(x16 < x15, x16, -x15);
  auto x18 = max(x17, x16 / 2);
  auto x19 = fma(x18, x17, x18 + x17);
  auto x20 = x19 * x18 + 1.0f;
  auto x21 = exp(x20) - x19;
  auto x22 = select(x21 < x20, x21, -x20);
  auto x23 = max(x22, x21 / 2);
  auto x24 = fma(x23, x22, x23 + x22);
  auto x25 = x24 * x23 + 1.0f;
  auto x26 = exp(x25) - x24;
  auto x27 = select(x26 < x25, x26, -x25);
  auto x28 = max(x27, x26 / 2);
  auto x29 = fma(x28, x27, x28 + x27);
  auto x30 = x29 * x28 + 1.0f;
  auto x31 = exp(x30) - x29;
  auto x32 = select(x31 < x30, x31, -x30);
  auto x33 = max(x32, x31 / 2);
  auto x34 = fma(x33, x32, x33 + x32);
  auto x35 = x34 * x33 + 1.0f;
  auto x36 = exp(x35) - x34;
  auto x37 = select(x36 < x35, x36, -x35);
  auto x38 = max(x37, x36 / 2);
  auto x39 = fma(x38, x37, x38 + x37);
  auto x40 = x39 * x38 + 1.0f;
  store(c, {m, n}, x40);
}};
// clang-format on
