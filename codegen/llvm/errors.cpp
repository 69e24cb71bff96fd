// LLVM is built without exceptions but with unwind tables, so a handler may throw through it. What it held is
// leaked then: better than ending the user's process. The handler is process-wide but for our private copy of
// LLVM; what it was at is per thread.
#include "codegen/llvm/errors.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "codegen/ir/fail.h"

namespace heddle::codegen {

namespace {

thread_local const std::string* current_task = nullptr;

std::atomic<bool> exiting{false};

[[noreturn]] void report(const std::string& message) {
  fail(ErrorKind::compile, {}, "LLVM could not {}: {}", current_task ? *current_task : "go on", message);
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

LlvmErrors::LlvmErrors(std::string task) : task_(std::move(task)), previous_(current_task) {
  if (exiting.load())
    fail(ErrorKind::unsupported, {},
         "the process exits, so LLVM can't {} any more: a static object's destructor launches only what was "
         "launched or prepared before",
         task_);
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(on_fatal_error); });
  current_task = &task_;
}

LlvmErrors::~LlvmErrors() {
  current_task = previous_;
  // LLVM makes static objects as it goes. Handlers run in reverse: each before what existed when it was
  // registered is destroyed. A failure to register is one of memory.
  std::atexit([] { exiting.store(true); });
}

void LlvmErrors::watch(llvm::LLVMContext& context) {
  context.setDiagnosticHandler(std::make_unique<Handler>());
}

}  // namespace heddle::codegen
