// The order of things, readable on one screen: trace -> canonical tile IR -> scheduled IR -> code.
#include "codegen/compile.h"

#include <optional>

#include "codegen/dump.h"
#include "codegen/host/host.h"
#include "codegen/interpret/interpret.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/machine/lower.h"
#include "codegen/nvptx/nvptx.h"
#include "codegen/passes/canonicalise.h"
#include "codegen/passes/check_partial.h"
#include "codegen/passes/expand_math.h"
#include "codegen/passes/promote_variables.h"
#include "codegen/schedule/lower.h"
#include "codegen/schedule/summary.h"

namespace heddle::codegen {

namespace {

class Traced final : public TracedKernel {
 public:
  explicit Traced(std::unique_ptr<ir::Function> function)
      : function_(std::move(function)), summary_(summarise(*function_)) {}
  const ir::Function& function() const override { return *function_; }
  const KernelSummary& summary() const override { return summary_; }

 private:
  std::unique_ptr<ir::Function> function_;
  KernelSummary summary_;
};

class Interpreted final : public Program {
 public:
  explicit Interpreted(std::unique_ptr<ir::Function> function) : function_(std::move(function)) {}
  void run(const int64_t* arguments, const int64_t* work, int64_t worker, char*) const override {
    interpret(*function_, arguments, work, worker);
  }
  int64_t scratch_bytes() const override { return 0; }

 private:
  std::unique_ptr<ir::Function> function_;
};

class Compiled final : public Program {
 public:
  Compiled(std::unique_ptr<HostProgram> program, int64_t scratch_bytes)
      : program_(std::move(program)), entry_(program_->entry()), scratch_bytes_(scratch_bytes) {}
  void run(const int64_t* arguments, const int64_t* work, int64_t worker, char* scratch) const override {
    entry_(arguments, work, worker, scratch);
  }
  int64_t scratch_bytes() const override { return scratch_bytes_; }

 private:
  std::unique_ptr<HostProgram> program_;
  HostEntry entry_;
  int64_t scratch_bytes_;
};

}  // namespace

std::unique_ptr<TracedKernel> TracedKernel::analyse(std::unique_ptr<ir::Function> raw, bool probe) {
  std::optional<Dump> dump;
  if (!probe) dump.emplace(*raw);
  if (dump) dump->write(Stage::tile, *raw);
  promote_variables(*raw);
  // Before canonicalisation, which may fold away the very loads and reductions that the rule is about.
  check_partial(*raw);
  canonicalise(*raw);
  ir::verify(*raw, ir::Level::tile);
  if (dump) dump->write(Stage::canonical, *raw);
  return std::make_unique<Traced>(std::move(raw));
}

std::unique_ptr<ir::Function> lower(const TracedKernel& kernel, const Schedule& schedule, Target target,
                                    Location schedule_where) {
  check_schedule(kernel.function(), schedule, target, schedule_where);
  std::unique_ptr<ir::Function> lowered = lower_schedule(kernel.function(), schedule);
  expand_math(*lowered);
  canonicalise(*lowered);
  ir::verify(*lowered, ir::Level::expanded);
  const Dump dump(*lowered);
  dump.write(Stage::scheduled, *lowered);
  if (target == Target::cpu) dump.write_host_code(*lowered);
  return lowered;
}

std::unique_ptr<Program> interpreter_program(std::unique_ptr<ir::Function> lowered) {
  return std::make_unique<Interpreted>(std::move(lowered));
}

Artifact compile(const ir::Function& lowered) {
  HostObject object = compile_host(lowered);
  return {.code = std::move(object.code), .scratch_bytes = object.scratch_bytes};
}

std::unique_ptr<Program> load(const Artifact& artifact) {
  return std::make_unique<Compiled>(
      HostProgram::load({.code = artifact.code, .scratch_bytes = artifact.scratch_bytes}),
      artifact.scratch_bytes);
}

std::string device_name() {
  return host_cpu_name();
}

std::string cache_key_text(const ir::Function& lowered) {
  return host_identity() + "\n" + ir::print(lowered);
}

std::unique_ptr<ir::Function> lower_gpu(const ir::Function& lowered, const Schedule& schedule,
                                        const GpuTarget& target, Location schedule_where) {
  std::unique_ptr<ir::Function> program = lower_to_machine(lowered, schedule, target, schedule_where);
  const Dump dump(*program);
  dump.write(Stage::machine, *program);
  dump.write_gpu_code(*program, target);
  return program;
}

GpuKernel compile_gpu(const ir::Function& program, const GpuTarget& target) {
  return compile_ptx(program, target.sm);
}

std::string gpu_key_text(const ir::Function& program, const GpuTarget& target) {
  return ptx_identity(target.sm) + "\n" + ir::print(program);
}

}  // namespace heddle::codegen
