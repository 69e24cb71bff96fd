// Devices and streams, as a host program sees them. Public; light.
#pragma once

#include <cstdint>

#include "codegen/ir/export.h"
#include "codegen/ir/location.h"

namespace heddle {

// Where kernels run. A small value.
class HEDDLE_API Device {
 public:
  enum class Kind : uint8_t { cpu, interpreter, cuda };

  static Device cpu() { return Device(Kind::cpu); }
  // Executes tile IR plainly, op by op: slow, obvious, and the oracle that every other device is compared
  // with.
  static Device interpreter() { return Device(Kind::interpreter); }
  // An NVIDIA GPU of compute capability 8.0 or later, by the driver's number. Throws Error (unsupported)
  // where there is none; then the message says what is missing.
  static Device cuda(int ordinal = 0, Location where = std::source_location::current());
  // By name: "cpu", "interpreter", "cuda", "cuda:1", or "auto": the first GPU that kernels can run on, else
  // the CPU. Throws Error (unsupported) for what this machine lacks.
  static Device open(const char* name = "auto", Location where = std::source_location::current());

  Kind kind() const { return kind_; }
  int ordinal() const { return ordinal_; }
  // "AMD EPYC ..., znver3", "NVIDIA H200, sm_90"; lives as long as the process.
  const char* name(Location where = std::source_location::current()) const;
  // How many workers run at once: cores, multiprocessors.
  int64_t concurrency(Location where = std::source_location::current()) const;

  friend bool operator==(Device, Device) = default;

 private:
  explicit Device(Kind kind, int ordinal = 0) : kind_(kind), ordinal_(int16_t(ordinal)) {}
  Kind kind_;
  int16_t ordinal_ = 0;
};

// An ordered queue of launches on a device. On the CPU a launch has finished when it returns, and exceptions
// of worker threads arrive there; on a GPU it is under way. Moves, but does not copy. May be used from
// several threads at once.
class HEDDLE_API Stream {
 public:
  // threads: how many CPU threads run workers; 0 = $HEDDLE_NUM_THREADS, else one a core. On a GPU a stream of
  // its own, which does not wait for the default stream.
  explicit Stream(Device device = Device::open(), int threads = 0,
                  Location where = std::source_location::current());
  // A caller's CUstream or cudaStream_t on a GPU; it must outlive the Stream. Null is the default stream.
  static Stream wrap(Device device, void* native, Location where = std::source_location::current());
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  Device device() const { return device_; }
  int threads() const { return threads_; }
  void* native() const { return native_; }  // the CUstream; null on a CPU
  // Returns when all launches are done. Throws Error (launch) if one of them faulted.
  void synchronize(Location where = std::source_location::current());

 private:
  Stream(Device device, void* native) : device_(device), native_(native) {}

  Device device_;
  int threads_ = 1;
  void* native_ = nullptr;
  bool owned_ = false;
};

}  // namespace heddle
