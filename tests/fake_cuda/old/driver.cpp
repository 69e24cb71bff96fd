// A CUDA driver from before the functions that Heddle uses: it has the first of them only.
extern "C" __attribute__((visibility("default"))) int cuInit(unsigned) {
  return 0;
}
