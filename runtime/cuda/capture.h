// Manners towards streams that are being captured into a graph, ours or anyone's: what must not happen then
// is refused before the driver sees it, so that the capture stays valid.
#pragma once

#include "codegen/ir/location.h"
#include "runtime/cuda/driver.h"

namespace heddle::runtime::cuda {

// Throws Error (launch) if `stream` is being captured: "{what}, but the stream is being captured into a
// graph; do it before the capture begins, or after it ends". The device's context is current.
void refuse_capture(StreamHandle stream, Location where, const char* what);

// While one lives, this thread may allocate, load and free although other streams are being captured: calls
// that no graph holds, and that would end a capture in the default mode.
class RelaxedCapture {
 public:
  RelaxedCapture(const Api& api);
  RelaxedCapture(const RelaxedCapture&) = delete;
  ~RelaxedCapture();

 private:
  const Api& api_;
  CaptureMode mode_ = kCaptureRelaxed;
  bool changed_;
};

}  // namespace heddle::runtime::cuda
