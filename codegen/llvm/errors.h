// Turns what LLVM does on failure (abort) into heddle::Error. Must not know what is being compiled.
#pragma once

#include <string>

#include "codegen/ir/location.h"

namespace llvm {
class LLVMContext;
}

namespace heddle::codegen {

// While one lives, fatal errors of LLVM on this thread become Error(compile): "LLVM could not <task>: ...".
// Throws Error (unsupported) once the process exits, when LLVM's own objects are gone.
class LlvmErrors {
 public:
  explicit LlvmErrors(std::string task);
  LlvmErrors(const LlvmErrors&) = delete;
  ~LlvmErrors();

  // Diagnostics of severity error in `context` do the same.
  void watch(llvm::LLVMContext& context);

 private:
  const std::string task_;
  const std::string* const previous_;
};

}  // namespace heddle::codegen
