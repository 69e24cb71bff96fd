#include "tests/support/ptx.h"

#include <cstdlib>
#include <filesystem>

#include "codegen/compile.h"
#include "runtime/cuda/ptxas.h"
#include "runtime/run_program.h"

namespace heddle::test {

namespace {

// The kernel with its dims bound by `schedule`, or with any dims where that is null, to be looked at.
std::unique_ptr<codegen::TracedKernel> trace(const runtime::KernelSource& source, const Schedule* schedule,
                                             const runtime::ArgumentFacts* facts) {
  static const Dims none;
  const runtime::TraceRequest request{.dims = schedule ? &schedule->dims : &none,
                                      .unbound_dim_value = schedule ? 0 : 64,
                                      .facts = facts,
                                      .schedule_where = {}};
  return codegen::TracedKernel::analyse(std::unique_ptr<ir::Function>(source.trace(source, request)));
}

}  // namespace

std::unique_ptr<ir::Function> scheduled(const runtime::KernelSource& source, const Schedule& schedule,
                                        const std::vector<runtime::ArgumentFacts>& facts) {
  return codegen::lower(*trace(source, &schedule, facts.data()), schedule, codegen::Target::gpu, {});
}

runtime::PackedArguments pack(const runtime::KernelSource& source, const Arguments& arguments) {
  std::vector<runtime::Argument> packed;
  const auto traced = trace(source, nullptr, nullptr);
  for (const ir::Parameter& parameter : traced->function().parameters) {
    const ir::Type& type = parameter.value->type;
    runtime::Argument argument;
    argument.element = type.element;
    if (type.kind == ir::Type::Kind::view) {
      argument.kind = runtime::Argument::Kind::view;
      argument.rank = uint8_t(type.rank);
      const bool reversed = packed.size() < arguments.orders.size() &&
                            arguments.orders[packed.size()] == Arguments::Order::column_major;
      int64_t stride = 1;
      for (int i = 0; i < type.rank; ++i) {
        const int axis = reversed ? i : type.rank - 1 - i;
        argument.extents[axis] = arguments.extent;
        argument.strides[axis] = stride;
        stride *= arguments.extent + arguments.gap;
      }
    } else if (type.kind == ir::Type::Kind::pointer) {
      argument.kind = runtime::Argument::Kind::pointer;
    }
    packed.push_back(argument);
  }
  runtime::PackedArguments result;
  runtime::pack(source, packed.data(), int(packed.size()), result, {});
  runtime::note_alignment(packed.data(), int(packed.size()), result);
  return result;
}

Schedule schedule_by_rule(const runtime::KernelSource& source, const runtime::PackedArguments& arguments) {
  return codegen::default_schedule(*trace(source, nullptr, arguments.facts), arguments.view(),
                                   {.target = codegen::Target::gpu, .concurrency = 132});
}

std::string find_ptxas() {
  // Programs of this environment may want the driver's assembler; here a ptxas is wanted.
  const auto variable = [](const char* name) -> const char* {
    const char* text = std::getenv(name);
    return text && std::string(text) == "driver" ? nullptr : text;
  };
  if (const auto found = runtime::cuda::find_ptxas(variable); !found.path.empty()) return found.path;
  const char* home = std::getenv("HOME");
  const std::string own = std::string(home ? home : "") + "/.cache/heddle-tools/ptxas";
  return std::filesystem::exists(own) ? own : std::string();
}

bool ptxas_knows(const std::string& architecture) {
  static const std::string help =
      runtime::run_program({find_ptxas(), "--help"}, runtime::cuda::kPtxasLimit).output;
  return help.find("'" + architecture + "'") != std::string::npos;
}

PtxasResult ptxas(const std::string& ptx, const std::string& architecture) {
  const std::string program = find_ptxas();
  if (program.empty()) return {};
  runtime::cuda::PtxasRun run = runtime::cuda::run_ptxas(program, ptx, architecture);
  return {.found = true, .accepted = run.problem.empty(), .output = run.log + run.problem};
}

}  // namespace heddle::test
