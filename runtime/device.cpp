// Devices by name, and streams on them.
#include <cstring>
#include <string>

#include "codegen/compile.h"
#include "codegen/ir/fail.h"
#include "runtime/stream.h"
#include "runtime/workers.h"

namespace heddle {

Device Device::open(const char* name, Location where) {
  const std::string wanted = name ? name : "";
  if (wanted == "auto" || wanted == "cpu") return cpu();
  if (wanted == "interpreter") return interpreter();
  fail(ErrorKind::unsupported, where, "there is no device '{}' in this build; it has: auto, cpu, interpreter",
       wanted);
}

const char* Device::name() const {
  static const std::string& cpu_name = *new std::string(codegen::device_name());
  return kind_ == Kind::cpu ? cpu_name.c_str() : "interpreter";
}

int64_t Device::concurrency() const {
  return runtime::default_threads();
}

Stream::Stream(Device device, int threads, Location where) : device_(device), threads_(threads) {
  if (threads < 0 || threads > 1024)
    fail(ErrorKind::launch, where, "a stream runs on 1 to 1024 threads, not {}", threads);
  if (threads == 0) threads_ = runtime::default_threads();
}

}  // namespace heddle
