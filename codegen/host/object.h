// From an LLVM module to an ELF object: verification, the optimisation pipeline, code generation. Must not
// know the tile IR.
#pragma once

#include <string>

#include "codegen/host/cpu.h"

namespace llvm {
class Module;
}

namespace heddle::codegen::host {

// The function that program.cpp looks for.
inline constexpr const char* kEntryName = "heddle_kernel";

// Gives `module` the triple and data layout of `machine`; before any code is made.
void prepare_module(llvm::Module& module, llvm::TargetMachine& machine);

// Verifies `module` and optimises it in place. Throws Error.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

// Code of an optimised module; leaves the module fit for nothing else.
std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine);

std::string print_module(const llvm::Module& module);
std::string print_assembly(const llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace heddle::codegen::host
