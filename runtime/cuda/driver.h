// The driver, opened when it is first asked for, and its failures as Errors.
#pragma once

#include <string>

#include "codegen/ir/location.h"
#include "runtime/cuda/api.h"

namespace heddle::runtime::cuda {

// Null where there is no usable driver or no device, in a child forked after the driver was opened, and while
// the process exits; `why`, where not null, then gets a sentence that lives as long as the process.
const Api* find_driver(const char** why = nullptr);
// The driver, or Error (unsupported).
const Api& driver(Location where);

// "12.8" for 12080, as the driver counts.
std::string cuda_version(int number);

// Throws the Error that says what `result` means and what to do; returns for success. `doing`: "loading
// kernel 'x'".
void check(Result result, Location where, const char* doing);

// A GPU as the code generator and the launcher need it. Looked at once; its primary context is retained for
// the life of the process, beside that of the CUDA runtime and of PyTorch.
struct DeviceInfo {
  int ordinal = 0;
  Context context = nullptr;
  char name[160] = "";  // "NVIDIA H200, sm_90"
  int sm = 0;
  int multiprocessors = 0;
  int shared_bytes = 0;            // that one CTA may have, opted in
  bool pageable = false;           // kernels may read any memory of the host
  StreamHandle zeroing = nullptr;  // where new buffers are zeroed; waits for no other stream
};
const DeviceInfo& device_info(int ordinal, Location where);
// The first GPU that kernels can run on; -1 where there is none, or no driver.
int first_device(Location where);

// While one lives, the device's context is current on this thread; the caller's own one comes back after.
class ContextScope {
 public:
  ContextScope(const DeviceInfo& device, Location where);
  ContextScope(const ContextScope&) = delete;
  ~ContextScope();

 private:
  Context previous_ = nullptr;
  bool changed_ = false;
};

}  // namespace heddle::runtime::cuda
