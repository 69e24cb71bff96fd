// EXPECT: a kernel's body captures nothing
#include "prelude.h"

void f(int factor) {
  const Kernel k{"k", [factor](View<f32, 1> c) { store(c, {0}, full<f32, 4>(float(factor))); }};  // HERE
}
