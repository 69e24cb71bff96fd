#include "common/blas.h"

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>

namespace sample {

const Blas* Blas::open() {
  static const Blas* blas = []() -> const Blas* {
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OPENBLAS_L2_SIZE");
    void* library = nullptr;
    for (const char* name : {"libopenblas.so.0", "libopenblas.so", "libopenblas64_.so.0"})
      if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
    if (!library) return nullptr;
    Blas* found = new Blas;
    found->sgemm_ = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
    found->dgemm_ = reinterpret_cast<Dgemm>(dlsym(library, "cblas_dgemm"));
    found->set_threads_ = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
    found->kernel_ = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"));
    return found->sgemm_ && found->dgemm_ && found->set_threads_ ? found : nullptr;
  }();
  return blas;
}

void Blas::multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a,
                    int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc) const {
  sgemm_(101, transpose_a ? 112 : 111, transpose_b ? 112 : 111, int(m), int(n), int(k), 1, a, int(lda), b,
         int(ldb), 0, c, int(ldc));
}

void Blas::multiply(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const double* a,
                    int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc) const {
  dgemm_(101, transpose_a ? 112 : 111, transpose_b ? 112 : 111, int(m), int(n), int(k), 1, a, int(lda), b,
         int(ldb), 0, c, int(ldc));
}

}  // namespace sample
