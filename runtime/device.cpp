// Devices by name, and streams on them.
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "codegen/compile.h"
#include "codegen/ir/fail.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/launches.h"
#include "runtime/stream.h"
#include "runtime/workers.h"

namespace heddle {

using runtime::cuda::ContextScope;
using runtime::cuda::device_info;

Device Device::cuda(int ordinal, Location where) {
  device_info(ordinal, where);
  return Device(Kind::cuda, ordinal);
}

Device Device::open(const char* name, Location where) {
  const std::string_view wanted = name ? name : "";
  if (wanted == "auto") {
    const int ordinal = runtime::cuda::first_device(where);
    return ordinal < 0 ? cpu() : cuda(ordinal, where);
  }
  if (wanted == "cpu") return cpu();
  if (wanted == "interpreter") return interpreter();
  if (wanted == "cuda") return cuda(0, where);
  if (wanted.starts_with("cuda:")) {
    int ordinal = 0;
    const std::string_view digits = wanted.substr(5);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size()) return cuda(ordinal, where);
  }
  fail(ErrorKind::unsupported, where,
       "there is no device '{}'; there are auto, cpu, interpreter, cuda, cuda:0, cuda:1 ...", wanted);
}

const char* Device::name(Location where) const {
  switch (kind_) {
    case Kind::interpreter: return "interpreter";
    case Kind::cuda: return device_info(ordinal_, where).name;
    case Kind::cpu: break;
  }
  static const std::string& cpu_name = *new std::string(codegen::device_name());
  return cpu_name.c_str();
}

int64_t Device::concurrency(Location where) const {
  return kind_ == Kind::cuda ? device_info(ordinal_, where).multiprocessors : runtime::default_threads();
}

Stream::Stream(Device device, int threads, Location where) : device_(device), threads_(threads) {
  if (threads < 0 || threads > 1024)
    fail(ErrorKind::launch, where, "a stream runs on 1 to 1024 threads, not {}", threads);
  if (threads == 0) threads_ = runtime::default_threads();
  if (device.kind() != Device::Kind::cuda) return;
  const ContextScope scope(device_info(device.ordinal(), where), where);
  runtime::cuda::StreamHandle stream = nullptr;
  runtime::cuda::check(runtime::cuda::driver(where).stream_create(&stream, runtime::cuda::kStreamNonBlocking),
                       where, "making a stream");
  native_ = stream;
  owned_ = true;
}

Stream Stream::wrap(Device device, void* native, Location where) {
  if (device.kind() != Device::Kind::cuda)
    fail(ErrorKind::launch, where, "a stream of the driver belongs to a GPU, not to the device {}",
         device.name(where));
  return Stream(device, native);
}

Stream::Stream(Stream&& other) noexcept
    : device_(other.device_),
      threads_(other.threads_),
      native_(other.native_),
      owned_(std::exchange(other.owned_, false)) {}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(threads_, other.threads_);
  std::swap(native_, other.native_);
  std::swap(owned_, other.owned_);
  return *this;
}

Stream::~Stream() {
  if (!owned_) return;
  // Launches under way go on; the driver releases the stream when they are done. A failure here is one that
  // the next call meets too.
  if (const runtime::cuda::Api* api = runtime::cuda::find_driver()) try {
      const ContextScope scope(device_info(device_.ordinal(), {}), {});
      api->stream_destroy(static_cast<runtime::cuda::StreamHandle>(native_));
    } catch (...) {
    }
}

void Stream::synchronize(Location where) {
  if (device_.kind() != Device::Kind::cuda) return;  // the CPU has nothing pending
  const ContextScope scope(device_info(device_.ordinal(), where), where);
  const auto stream = static_cast<runtime::cuda::StreamHandle>(native_);
  runtime::cuda::refuse_capture(stream, where, "synchronize waits for the stream");
  const uint64_t launches = runtime::cuda::count_launches(device_.ordinal());
  runtime::cuda::check(runtime::cuda::driver(where).stream_synchronize(stream), where,
                       "waiting for a stream");
  runtime::cuda::forget_launches(device_.ordinal(), stream, launches);
}

}  // namespace heddle
