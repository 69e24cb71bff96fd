// The samples' kernels, published by name: loaded into a Python process, they are checked and timed beside
// PyTorch's and Triton's (peers.py).
#include <heddle/heddle.h>

#include "gemm/gemm.h"
#include "runtime/interop.h"
#include "softmax/softmax.h"
#include "vector_add/vector_add.h"

extern "C" __attribute__((visibility("default"))) int heddle_publish_samples() {
  try {
    using namespace heddle;
    publish("gemm_bf16", sample::gemm<bf16>.source());
    publish("gemm_f16", sample::gemm<f16>.source());
    publish("gemm_f32", sample::gemm<f32>.source());
    publish("gemm_f64", sample::gemm<f64>.source());
    publish("softmax_f32", sample::softmax<f32>.source());
    publish("softmax_bf16", sample::softmax<bf16>.source());
    publish("vector_add", sample::vector_add.source());
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}
