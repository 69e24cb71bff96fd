// The NVIDIA target: a machine program -> LLVM IR -> PTX text. Must not know the driver.
#pragma once

#include <string>

#include "codegen/ir/ir.h"
#include "codegen/target.h"

namespace heddle::codegen {

// The kernel as codegen/target.h describes it.
//
// `sm` is the compute capability (major * 10 + minor) whose instructions may be used. Throws Error (compile).
GpuKernel compile_ptx(const ir::Function& program, int sm);

// The text before PTX, for HEDDLE_DUMP and tests.
std::string print_ptx_llvm(const ir::Function& program, int sm);

// What the text depends on besides the program: code generator and its options.
std::string ptx_identity(int sm);

}  // namespace heddle::codegen
