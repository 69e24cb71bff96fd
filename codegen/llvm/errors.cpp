// LLVM is built without exceptions but with unwind tables, so a handler may throw through it. What it held is
// leaked then: better than ending the user's process. The handler is process-wide but for our private copy of
// LLVM; the kernel's name is per thread.
#include "codegen/llvm/errors.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>

#include "codegen/ir/fail.h"

namespace heddle::codegen {

namespace {

thread_local const std::string* current_kernel = nullptr;

[[noreturn]] void report(const std::string& message) {
  fail(ErrorKind::compile, {}, "LLVM could not compile kernel '{}': {}",
       current_kernel ? *current_kernel : std::string("?"), message);
}

[[noreturn]] void on_fatal_error(void*, const char* reason, bool) {
  report(reason);
}

struct Handler final : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;  // remarks and warnings are not for the user
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    report(stream.str());
  }
};

}  // namespace

LlvmErrors::LlvmErrors(const std::string& kernel) : previous_(current_kernel) {
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
  current_kernel = &kernel;
}

LlvmErrors::~LlvmErrors() {
  current_kernel = previous_;
}

void LlvmErrors::watch(llvm::LLVMContext& context) {
  context.setDiagnosticHandler(std::make_unique<Handler>());
}

}  // namespace heddle::codegen
