// Which processor the host target compiles for, and the few facts about it that shape the code. Must not know
// the IR.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class TargetMachine;
}

namespace heddle::codegen::host {

struct Cpu {
  std::string triple;
  std::string name;      // as LLVM spells it: "znver3", "x86-64-v3"
  std::string features;  // "+avx2,-avx512f", sorted
  // Derived from the features.
  int vector_bytes = 16;      // of the registers that f32 arithmetic fills
  int vector_registers = 16;  // their number
  bool fma = false;           // fused multiply-add instructions for f32 and f64
  bool half = false;          // conversion instructions between f16 and f32
  bool round = false;         // floor and round-to-even instructions
  bool little_endian = true;
};

// This machine, looked at once.
const Cpu& this_cpu();

// Another processor of this machine's architecture, for tests: "x86-64", "x86-64-v3", "skylake-avx512".
Cpu named_cpu(const std::string& name);

// A fresh code generator for `cpu`. Throws Error when LLVM has none.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Cpu& cpu);

}  // namespace heddle::codegen::host
