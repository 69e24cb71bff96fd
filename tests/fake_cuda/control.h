// How tests steer the fake driver and see what it was asked. The functions are looked up in the libcuda.so.1
// that the library opened, so that nothing links to it.
#pragma once

#include <cstdint>

// One call of cuLaunchKernel.
struct FakeLaunch {
  static constexpr int kMaxParameters = 128;
  char entry[128];
  int device;
  unsigned grid[3], block[3], shared_bytes;
  void* stream;
  bool captured;
  int parameter_count;
  int64_t parameters[kMaxParameters];
};

// Live objects, by kind.
struct FakeObjects {
  int streams, modules, links, blocks;
};

// FAKE_CUDA(result, name, parameters) is the function fake_cuda_<name>.
#define FAKE_CUDA_CONTROLS(FAKE_CUDA)                                                                    \
  /* Calls of `function` give `code` instead of working, once `skip` more of them worked. */             \
  FAKE_CUDA(void, fail, (const char* function, int code, int skip))                                      \
  FAKE_CUDA(void, clear, ())                    /* no more failures, counts and launches of before */    \
  FAKE_CUDA(int, calls, (const char* function)) /* null: of all, but the two of the current context */   \
  FAKE_CUDA(int, launches, ())                                                                           \
  FAKE_CUDA(bool, launch, (int index, FakeLaunch* launch))                                               \
  FAKE_CUDA(void, objects, (FakeObjects * objects))                                                      \
  FAKE_CUDA(int, memory_device, (const void* memory)) /* -1: not the driver's */                         \
  FAKE_CUDA(void*, current, ())                       /* this thread's context */                        \
  FAKE_CUDA(void, make_current, (int device))         /* its primary context; -1: none */                \
  FAKE_CUDA(void*, make_stream, (int device))         /* a caller's own stream */                        \
  FAKE_CUDA(void, begin_capture, (void* stream))                                                         \
  FAKE_CUDA(bool, end_capture, (void* stream))                  /* whether the capture is still valid */ \
  FAKE_CUDA(int, default_stream_uses, ())                       /* work given to the default stream */   \
  FAKE_CUDA(void, register_host, (void* memory, int64_t bytes)) /* as cuMemHostRegister */               \
  FAKE_CUDA(void, enable_peers, ())             /* devices reach each other's memory, until clear() */   \
  FAKE_CUDA(void, set_log, (const char* text))  /* what the assembler says of what it refuses */         \
  FAKE_CUDA(void, set_info, (const char* text)) /* and, when asked, of what it assembles */
