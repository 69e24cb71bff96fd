// compile_host with the processor given, and its intermediate text: for tests.
#pragma once

#include "codegen/host/cpu.h"
#include "codegen/host/host.h"

namespace heddle::codegen::host {

// The function that program.cpp looks for.
inline constexpr const char* kEntryName = "heddle_kernel";

struct Compiled {
  HostObject object;
  std::string llvm, assembly;  // filled in when asked for
};

Compiled compile_for(const ir::Function& function, const Cpu& cpu, bool want_text = false);

}  // namespace heddle::codegen::host
