// The thread pool that runs a kernel's workers on the CPU. Knows nothing of kernels.
#pragma once

#include <cstdint>

namespace heddle::runtime {

// A non-owning reference to a callable (worker index, scratch of the running thread).
class WorkerFunction {
 public:
  template <class F>
  WorkerFunction(const F& function)
      : object_(&function), call_([](const void* object, int64_t worker, char* scratch) {
          (*static_cast<const F*>(object))(worker, scratch);
        }) {}
  void operator()(int64_t worker, char* scratch) const { call_(object_, worker, scratch); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, char*);
};

// Calls function(w, scratch) once for each w in [0, count), on up to `threads` threads of which the caller is
// one; returns when all are done. `function` must not throw, nor wait for another worker. Each thread's
// scratch holds scratch_bytes, 64-byte aligned, and is kept for the next call. Any number of callers at once.
// Throws Error where memory or threads can't be had (with no threads to be had, the caller does all the
// work).
void run_workers(int threads, int64_t count, int64_t scratch_bytes, WorkerFunction function);

// Cores this process may run on, at least 1; $HEDDLE_NUM_THREADS if that is a number from 1 to 1024.
int default_threads();

}  // namespace heddle::runtime
