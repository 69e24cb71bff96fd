// From scheduled IR to code that runs: what runtime/ may know of the code generator.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Compiled code for this CPU, relocatable, as it is kept in the cache.
struct HostObject {
  std::string code;           // an ELF object
  int64_t scratch_bytes = 0;  // 64-byte aligned memory each running worker needs
};

// One worker's run. `arguments` holds 8-byte slots: a pointer's address; a scalar's bits in the low bytes
// (i1: 0 or 1); for a view its base address, its extents, its strides in elements. `work` holds the
// WorkParams that work_param reads, `worker` is worker_id. `scratch` as HostObject says.
using HostEntry = void (*)(const int64_t* arguments, const int64_t* work, int64_t worker, char* scratch);

// Lowers scheduled IR (expanded, no tile_id or program_id left) to an object file. Deterministic. Throws
// Error.
HostObject compile_host(const ir::Function& function);

// Everything about this machine and compiler that changes compile_host's output: CPU, features, LLVM and
// build identity.
std::string host_identity();
std::string host_cpu_name();  // "AMD EPYC 7763 (znver3)"

// Loaded code; freed with the object.
class HostProgram {
 public:
  static std::unique_ptr<HostProgram> load(const HostObject& object);  // throws Error
  virtual ~HostProgram() = default;
  virtual HostEntry entry() const = 0;
};

}  // namespace heddle::codegen
