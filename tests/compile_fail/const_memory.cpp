// EXPECT: it takes no TensorRef of const
#include "prelude.h"

const Kernel k{"k", [](View<const f32, 2>, View<f32, 2>, Scalar<i64>) {}};
void f(Stream& stream, TensorRef<f32, 2> x, TensorRef<const f32, 2> in, TensorRef<f64, 2> d,
       TensorRef<f32, 1> flat) {
  (void)in, (void)d, (void)flat;
  k(stream, x, in, 1);  // HERE
}
