// From an LLVM module to code: verification, the optimisation pipeline, code generation. Must not know the
// tile IR.
#pragma once

#include <string>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace heddle::codegen {

// Gives `module` the triple and data layout of `machine`; before any code is made.
void prepare_module(llvm::Module& module, llvm::TargetMachine& machine);

// Verifies `module` and optimises it in place; with sinking, values move into the one branch that uses them.
// Throws Error.
enum class Sinking : bool { no, yes };
void optimise(llvm::Module& module, llvm::TargetMachine& machine, Sinking sinking = Sinking::no);

// Code of an optimised module; leaves the module fit for nothing else.
std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine);

std::string print_module(const llvm::Module& module);
std::string print_assembly(const llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace heddle::codegen
