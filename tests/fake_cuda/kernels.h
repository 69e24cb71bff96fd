// Kernels to launch, and a launcher that allocates nothing: the fake driver never touches what they point to.
#pragma once

#include "tests/fake_cuda/fixture.h"

namespace fake {

HEDDLE_DIM(BLOCK);

// Each use is a kernel of its own.
template <int Tag>
const heddle::Kernel add{
    "add", [](heddle::Ptr<const heddle::f32> x, heddle::Ptr<heddle::f32> out, heddle::Scalar<heddle::i64> n) {
      auto i = heddle::program_id(0) * 128 + heddle::arange<128>();
      auto live = i < n;
      heddle::store(out + i, heddle::load(x + i, live) + float(Tag), live);
    }};

template <int Tag>
const heddle::Kernel scale{"scale",
                           [](heddle::View<const heddle::f32, 2> in, heddle::View<heddle::f32, 2> out) {
                             auto [m, n] = heddle::tile_id<4, BLOCK>(out);
                             heddle::store(out, {m, n}, heddle::load<4, BLOCK>(in, {m, n}) * float(Tag + 2));
                           }};

// Memory that is never read, and that all devices reach.
inline heddle::f32* memory() {
  alignas(4096) static float floats[1024];
  static const bool registered = (cuda().register_host(floats, sizeof floats), true);
  return registered ? floats : nullptr;
}

}  // namespace fake
