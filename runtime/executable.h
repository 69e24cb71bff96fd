// A compiled kernel that can run on a device: what launch() sees of the three kinds of device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "runtime/launch.h"

namespace heddle::runtime {

// One launch's arguments, flattened, and its amount of work.
struct LaunchWork {
  const Argument* arguments;
  int count;
  const int64_t* slots;
  int slot_count;
  codegen::WorkCount work;  // at least one worker
};

class Executable {
 public:
  virtual ~Executable() = default;
  // From several threads at once. Throws Error.
  virtual void run(Stream& stream, const LaunchWork& launch, Location where) const = 0;
};

// Where compiled code came from, and what it took: for LaunchReport and the log.
struct CodeOrigin {
  bool cache_hit = false;
  const char* cache_path = "";
  double codegen_ms = 0, assemble_ms = 0, load_ms = 0;
  GpuCode gpu{};
  std::vector<std::string> remarks{};  // of the assembler
};

// The lowered kernel made ready for the stream's device, through the cache where code is compiled. Throws
// Error (launch) where that would spoil a capture of the stream, which stays valid.
std::unique_ptr<Executable> make_host_executable(const KernelSource& source, const ir::Function& lowered,
                                                 CodeOrigin& origin);
std::unique_ptr<Executable> make_interpreter_executable(std::unique_ptr<ir::Function> lowered);
std::unique_ptr<Executable> make_cuda_executable(const KernelSource& source, const ir::Function& lowered,
                                                 const Schedule& schedule, const Stream& stream,
                                                 CodeOrigin& origin, Location where);

}  // namespace heddle::runtime
