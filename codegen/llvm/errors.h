// Turns what LLVM does on failure (abort) into heddle::Error. Must not know what is being compiled.
#pragma once

#include <string>

#include "codegen/ir/location.h"

namespace llvm {
class LLVMContext;
}

namespace heddle::codegen {

// While one lives, fatal errors of LLVM on this thread become Error(compile) naming `kernel`.
class LlvmErrors {
 public:
  explicit LlvmErrors(const std::string& kernel);
  LlvmErrors(const LlvmErrors&) = delete;
  ~LlvmErrors();

  // Diagnostics of severity error in `context` do the same.
  void watch(llvm::LLVMContext& context);

 private:
  const std::string* previous_;
};

}  // namespace heddle::codegen
