// A kernel's compiled variants, one for each combination of argument facts, schedule and device: found
// without locks, made once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "codegen/compile.h"
#include "runtime/arguments.h"
#include "runtime/executable.h"
#include "runtime/launch.h"

namespace heddle::runtime {

codegen::Target target_of(Device device);

// A kernel traced and compiled for one set of facts, one schedule, one kind of device. Made once; then only
// read.
struct Variant {
  const uint64_t number = next_number();  // from 1; never used again
  std::vector<ArgumentFacts> facts;
  Device device = Device::cpu();
  bool probe = false;                // traced with any dims, to be looked at by the default rule; never run
  std::optional<Schedule> schedule;  // none for a probe

  std::mutex mutex;                      // held while the variant is made, ...
  std::atomic<std::thread::id> maker{};  // ... by this thread
  // Two steps: what a launch of no work needs, and of a launch that is refused; then code. A probe has the
  // first alone.
  std::atomic<bool> lowered{false}, compiled{false};
  std::unique_ptr<codegen::TracedKernel> traced;
  std::unique_ptr<ir::Function> program;  // scheduled; until there is code
  std::unique_ptr<Executable> executable;

  Variant* next = nullptr;

  bool matches(const PackedArguments& arguments, Device wanted_device, const Schedule* wanted) const;

  // Called once there is a schedule, lowered. Makes the code, unless it is there.
  void ensure_code(const KernelSource& source, const Stream& stream, Location where) {
    if (!compiled.load(std::memory_order_acquire)) make_code(source, stream, where);
  }

 private:
  static uint64_t next_number();
  void make_code(const KernelSource& source, const Stream& stream, Location where);
};

// Variants form a list that only grows, so that readers need no lock.
struct KernelState {
  KernelState() = default;
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;
  ~KernelState();

  // The variant, traced and lowered if it is new. `schedule` null asks for the probe. Throws Error.
  Variant& get(const KernelSource& source, const PackedArguments& arguments, Device device,
               const Schedule* schedule, Location where);
  // With the schedule that the default rule chooses for these arguments.
  Variant& get_by_rule(const KernelSource& source, const PackedArguments& arguments, Device device,
                       const codegen::Machine& machine, Location where);

 private:
  Variant* find(const PackedArguments& arguments, Device device, const Schedule* schedule) const;

  std::atomic<Variant*> first_{nullptr};
  std::mutex growing_;
};

}  // namespace heddle::runtime
