#include "tests/support/ptx.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/compile.h"
#include "tests/support/temporary_folder.h"

namespace heddle::test {

std::unique_ptr<ir::Function> scheduled(const runtime::KernelSource& source, const Schedule& schedule,
                                        const std::vector<runtime::ArgumentFacts>& facts) {
  const runtime::TraceRequest request{
      .dims = &schedule.dims, .unbound_dim_value = 0, .facts = facts.data(), .schedule_where = {}};
  const auto traced =
      codegen::TracedKernel::analyse(std::unique_ptr<ir::Function>(source.trace(source, request)));
  return codegen::lower(*traced, schedule, codegen::Target::gpu, {});
}

namespace {

// Where tools/setup.sh looks, and puts one.
std::string find_ptxas() {
  if (const char* named = std::getenv("HEDDLE_PTXAS")) return named;
  std::istringstream folders(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::ifstream(folder + "/ptxas").good()) return folder + "/ptxas";
  const char* home = std::getenv("HOME");
  for (const std::string& path : {std::string("/usr/local/cuda/bin/ptxas"),
                                  std::string(home ? home : "") + "/.cache/heddle-tools/ptxas"})
    if (std::ifstream(path).good()) return path;
  return {};
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

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
