#include "runtime/cuda/capture.h"

#include "codegen/ir/fail.h"

namespace heddle::runtime::cuda {

void refuse_capture(StreamHandle stream, Location where, const char* what) {
  CaptureStatus status = kCaptureNone;
  const Result result = driver(where).stream_is_capturing(stream, &status);
  // The default stream itself is never captured, but would wait for a stream that is.
  const bool other = result == kStreamCaptureImplicit;
  if (!other) check(result, where, "asking whether a stream is being captured");
  if (!other && status == kCaptureNone) return;
  fail(ErrorKind::launch, where, "{}, but {}; do it before the capture begins, or after it ends", what,
       other ? "another stream is being captured, for which the default stream would wait"
             : "the stream is being captured into a graph");
}

RelaxedCapture::RelaxedCapture(const Api& api)
    : api_(api), changed_(api.exchange_capture_mode(&mode_) == kSuccess) {}

RelaxedCapture::~RelaxedCapture() {
  if (changed_) api_.exchange_capture_mode(&mode_);
}

}  // namespace heddle::runtime::cuda
