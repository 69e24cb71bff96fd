// Asks LLVM what this processor is. The answers are part of the cache key through host_identity().
#include "codegen/host/cpu.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <vector>

#include "codegen/build_id.h"
#include "codegen/host/host.h"
#include "codegen/ir/fail.h"
#include "codegen/llvm/errors.h"

namespace heddle::codegen {

namespace host {

namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::string host_features() {
  std::vector<std::string> list;
  for (const auto& feature : llvm::sys::getHostCPUFeatures())
    list.push_back((feature.second ? "+" : "-") + feature.first().str());
  // By name, whatever the map's order is.
  std::sort(list.begin(), list.end(),
            [](const std::string& a, const std::string& b) { return a.substr(1) < b.substr(1); });
  std::string text;
  for (const std::string& feature : list) text += (text.empty() ? "" : ",") + feature;
  return text;
}

Cpu with_facts(Cpu cpu) {
  const LlvmErrors errors("describe this processor");
  const llvm::Triple triple(cpu.triple);
  const auto machine = make_target_machine(cpu);
  const llvm::MCSubtargetInfo& subtarget = *machine->getMCSubtargetInfo();
  auto has = [&](const char* feature) { return subtarget.checkFeatures(feature); };
  cpu.little_endian = triple.isLittleEndian();
  if (triple.isX86()) {
    const bool avx512 = has("+avx512f,+avx512bw,+avx512dq,+avx512vl");
    cpu.vector_bytes = avx512 ? 64 : has("+avx2") ? 32 : 16;
    cpu.vector_registers = avx512 ? 32 : 16;
    cpu.fma = has("+fma") || avx512;
    cpu.half = has("+f16c") || avx512;
    cpu.round = has("+sse4.1");
  } else {
    // AArch64 has all of it; elsewhere LLVM expands or calls the functions that program.cpp offers.
    cpu.vector_registers = triple.isAArch64() ? 32 : 16;
    cpu.fma = cpu.round = true;
    cpu.half = triple.isAArch64();
  }
#ifdef HEDDLE_TSAN
  cpu.vector_bytes = 8;  // LLVM's pass sees accesses of up to 16 bytes, and i64 lanes take twice the width
#endif
  return cpu;
}

// "AMD EPYC 7763 64-Core Processor", or nothing where the system doesn't say.
std::string marketing_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      if (const size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return {};
}

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Cpu& cpu) {
  initialize_llvm();
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(cpu.triple, message);
  if (!target)
    fail(ErrorKind::unsupported, {}, "LLVM has no code generator for this machine ({}): {}", cpu.triple,
         message);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // a fused multiply-add only where the IR says fma
  options.TrapUnreachable = false;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(cpu.triple, cpu.name, cpu.features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (!machine) fail(ErrorKind::unsupported, {}, "LLVM refuses the processor {} ({})", cpu.name, cpu.triple);
  return machine;
}

const Cpu& this_cpu() {
  // Never destroyed: kernels may be launched from destructors of static objects.
  static const Cpu& cpu = *new Cpu(with_facts({.triple = llvm::sys::getProcessTriple(),
                                               .name = llvm::sys::getHostCPUName().str(),
                                               .features = host_features()}));
  return cpu;
}

Cpu named_cpu(const std::string& name) {
  return with_facts({.triple = llvm::sys::getProcessTriple(), .name = name, .features = ""});
}

}  // namespace host

std::string host_identity() {
  const host::Cpu& cpu = host::this_cpu();
  return fmt::format("host {} {} {} {}", cpu.triple, cpu.name, cpu.features, build_identity());
}

std::string host_cpu_name() {
  const std::string marketing = host::marketing_name();
  const std::string& name = host::this_cpu().name;
  return marketing.empty() ? name : fmt::format("{} ({})", marketing, name);
}

}  // namespace heddle::codegen
