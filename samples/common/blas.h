// OpenBLAS, opened at run time as a peer to compare with. It chooses its own kernel for this CPU.
#pragma once

#include <cstdint>

namespace sample {

// Row-major c[m,n] = op(a)[m,k] * op(b)[k,n] on `threads` threads; leading dimensions in elements.
class Blas {
 public:
  static const Blas* open();  // null where the library is not installed

  void multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) const;
  void multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
                int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) const;
  void set_threads(int threads) const { set_threads_(threads); }
  const char* kernel() const { return kernel_ ? kernel_() : "?"; }

 private:
  // CBLAS interface, LP64: enums are ints. 101 = row-major, 111 = as it is, 112 = transposed.
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                         float*, int);
  using Dgemm = void (*)(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                         double*, int);
  Sgemm sgemm_ = nullptr;
  Dgemm dgemm_ = nullptr;
  void (*set_threads_)(int) = nullptr;
  char* (*kernel_)() = nullptr;
};

}  // namespace sample
