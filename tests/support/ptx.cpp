#include "tests/support/ptx.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/compile.h"
#include "tests/support/temporary_folder.h"

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

namespace {

// Where tools/setup.sh looks, and puts one.
std::string find_ptxas() {
  if (const char* named = std::getenv("HEDDLE_PTXAS")) return named;
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::ifstream(folder + "/ptxas").good()) return folder + "/ptxas";
  const auto below = [](const char* variable, const char* path) {
    const char* folder = std::getenv(variable);
    return folder ? std::string(folder) + path : std::string();
  };
  for (const std::string& path :
       {below("CUDA_HOME", "/bin/ptxas"), below("CUDA_PATH", "/bin/ptxas"),
        std::string("/usr/local/cuda/bin/ptxas"), below("HOME", "/.cache/heddle-tools/ptxas")})
    if (std::ifstream(path).good()) return path;
  return {};
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

bool ptxas_knows(const std::string& architecture) {
  static const std::string help = [] {
    const TemporaryFolder folder;
    const std::string text = folder.path() / "help";
    const int status = std::system((find_ptxas() + " --help >" + text).c_str());
    return status == 0 ? contents(text) : std::string();
  }();
  return help.find("'" + architecture + "'") != std::string::npos;
}

PtxasResult ptxas(const std::string& ptx, const std::string& architecture) {
  const std::string program = find_ptxas();
  if (program.empty()) return {};
  const TemporaryFolder folder;
  const std::string input = folder.path() / "kernel.ptx", report = folder.path() / "report";
  std::ofstream(input) << ptx;
  const std::string command =
      program + " -v -arch=" + architecture + " -o /dev/null " + input + " >" + report + " 2>&1";
  const int status = std::system(command.c_str());
  return {.found = true, .accepted = status == 0, .output = contents(report)};
}

}  // namespace heddle::test
