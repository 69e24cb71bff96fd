// Devices and streams, as a host program sees them. Public; light.
#pragma once

#include <cstdint>

#include "codegen/ir/export.h"
#include "codegen/ir/location.h"

namespace heddle {

// Where kernels run. A small value.
class HEDDLE_API Device {
 public:
  enum class Kind : uint8_t { cpu, interpreter };

  static Device cpu() { return Device(Kind::cpu); }
  // Executes tile IR plainly, op by op: slow, obvious, and the oracle that every other device is compared
  // with.
  static Device interpreter() { return Device(Kind::interpreter); }
  // By name: "cpu", "interpreter", or "auto" for the fastest there is. Throws Error (unsupported) for what
  // this machine lacks.
  static Device open(const char* name = "auto", Location where = std::source_location::current());

  Kind kind() const { return kind_; }
  const char* name() const;     // "AMD EPYC ..., znver3"; lives as long as the process
  int64_t concurrency() const;  // how many workers run at once: cores, multiprocessors

  friend bool operator==(Device, Device) = default;

 private:
  explicit Device(Kind kind) : kind_(kind) {}
  Kind kind_;
};

// An ordered queue of launches on a device. On the CPU a launch has finished when it returns, and exceptions
// of worker threads arrive there. May be used from several threads at once.
class HEDDLE_API Stream {
 public:
  // threads: how many CPU threads run workers; 0 = $HEDDLE_NUM_THREADS, else one a core.
  explicit Stream(Device device = Device::open(), int threads = 0,
                  Location where = std::source_location::current());

  Device device() const { return device_; }
  int threads() const { return threads_; }
  void synchronize() {}  // the CPU has nothing pending

 private:
  Device device_;
  int threads_;
};

}  // namespace heddle
