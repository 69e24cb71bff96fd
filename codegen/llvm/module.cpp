// The pipeline is short on purpose: what reaches it is SSA already, vectorised, with few loads that could be
// shared. Passes that invent calls (loop idioms) or reassociate must never be in it.
#include "codegen/llvm/module.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Instrumentation/ThreadSanitizer.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Scalar/Sink.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/ir/fail.h"

namespace heddle::codegen {

namespace {

// Our functions may call nothing: what LLVM knows about C's library is switched off.
llvm::TargetLibraryInfoImpl no_library(const llvm::Module& module) {
  llvm::TargetLibraryInfoImpl info{llvm::Triple(module.getTargetTriple())};
  info.disableAllFunctions();
  return info;
}

void verify(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(module, &stream))
    fail(ErrorKind::internal, {}, "code generation made invalid LLVM IR: {}", stream.str());
}

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType form) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(no_library(module)));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, form, /*DisableVerify=*/true))
    fail(ErrorKind::unsupported, {}, "LLVM can't write code for {}", module.getTargetTriple());
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

void prepare_module(llvm::Module& module, llvm::TargetMachine& machine) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, Sinking sinking) {
  verify(module);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(no_library(module)); });
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(
      llvm::LICMPass(/*LicmMssaOptCap=*/100, /*LicmMssaNoAccForPromotionCap=*/250,
                     /*AllowSpeculation=*/true),
      /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/false));
  if (sinking == Sinking::yes) passes.addPass(llvm::SinkingPass());
#ifdef HEDDLE_TSAN
  if (!machine.getTargetTriple().isNVPTX()) passes.addPass(llvm::ThreadSanitizerPass());
#endif
  llvm::ModulePassManager pipeline;
  pipeline.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  pipeline.run(module, modules);
}

std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
  return generate(module, machine, llvm::CodeGenFileType::ObjectFile);
}

std::string print_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

std::string print_assembly(const llvm::Module& module, llvm::TargetMachine& machine) {
  // Code generation changes the module it is given.
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  return generate(*copy, machine, llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace heddle::codegen
