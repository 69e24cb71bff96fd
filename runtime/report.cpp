#include "runtime/report.h"

#include "codegen/ir/intern.h"
#include "runtime/log.h"

namespace heddle::runtime {

constinit thread_local ThreadReport thread_report;

void ThreadReport::clear() {
  *this = {};
}

void ThreadReport::made(const CodeOrigin& origin, double compile_ms) {
  report.cache_hit = origin.cache_hit;
  report.cache_path = origin.cache_path;
  report.codegen_ms = origin.codegen_ms;
  report.assemble_ms = origin.assemble_ms;
  report.load_ms = origin.load_ms;
  report.gpu = origin.gpu;
  report.compile_ms = compile_ms;
  report.compiled_now = true;
}

LaunchReport last_launch() {
  return thread_report.report;
}

const char* describe(const GpuCode& code) {
  if (!*code.assembler) return "";
  const bool told = code.spill_store_bytes >= 0 && code.spill_load_bytes >= 0;
  const std::string spilled =
      told ? fmt::format("{} bytes spilled", code.spill_store_bytes + code.spill_load_bytes)
           : fmt::format("{} bytes of local memory a thread", code.stack_bytes);
  return intern(fmt::format("{} registers, {}, {:.1f} KiB shared, by {}", code.registers, spilled,
                            double(code.shared_bytes) / 1024, code.assembler));
}

void log_made(const KernelSource& source, Device device, const std::vector<std::string>& remarks,
              Location where) {
  if (log_level() < LogLevel::info) return;
  const LaunchReport report = last_launch();
  if (device.kind() == Device::Kind::interpreter) {
    log(LogLevel::info, "kernel '{}' for the interpreter: traced in {:.1f} ms", source.name, report.trace_ms);
    return;
  }
  log(LogLevel::info, "kernel '{}' for {}: traced in {:.1f} ms; cache {}, ready in {:.1f} ms, {}",
      source.name, device.name(where), report.trace_ms, report.cache_hit ? "hit" : "miss", report.compile_ms,
      *report.cache_path ? report.cache_path : "in no file");
  if (device.kind() == Device::Kind::cpu) {
    log(LogLevel::debug, "kernel '{}': {:.1f} ms to object code, {:.1f} ms to load", source.name,
        report.codegen_ms, report.load_ms);
    return;
  }
  log(LogLevel::debug, "kernel '{}': {:.1f} ms to PTX, {:.1f} ms to assemble, {:.1f} ms to load", source.name,
      report.codegen_ms, report.assemble_ms, report.load_ms);
  log(LogLevel::debug, "kernel '{}': {}", source.name, describe(report.gpu));
  if (report.gpu.spill_store_bytes > 0 || report.gpu.spill_load_bytes > 0)
    log(LogLevel::info,
        "kernel '{}' spills: {} registers are not enough, so its code moves {} bytes to local memory and {} "
        "back; smaller tiles, or more warps, need fewer",
        source.name, report.gpu.registers, report.gpu.spill_store_bytes, report.gpu.spill_load_bytes);
  for (const std::string& remark : remarks)
    log(LogLevel::info, "kernel '{}': {} remarks: {}", source.name, report.gpu.assembler, remark);
}

}  // namespace heddle::runtime
