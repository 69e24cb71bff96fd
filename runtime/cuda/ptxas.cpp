#include "runtime/cuda/ptxas.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <tuple>

#include "runtime/run_program.h"

namespace heddle::runtime::cuda {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kVersionLimit(10);

bool can_be_executed(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

// A folder that nobody else can look into, removed with all it holds.
class PrivateFolder {
 public:
  PrivateFolder() {
    std::error_code failed;
    fs::path base = fs::temp_directory_path(failed);
    if (failed) base = "/tmp";
    path_ = base / "heddle-ptxas-XXXXXX";
    if (!::mkdtemp(path_.data())) {
      problem_ =
          fmt::format("has no folder for its files: {}: {}", path_, std::generic_category().message(errno));
      path_.clear();
    }
  }
  PrivateFolder(const PrivateFolder&) = delete;
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  const std::string& problem() const { return problem_; }

 private:
  std::string path_, problem_;
};

// Its messages name its input; the folder says nothing to anyone.
std::string without(std::string text, const std::string& part) {
  for (size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
  return text;
}

PtxasVersion ask_version(const std::string& path) {
  const ProgramRun run = run_program({path, "--version"}, kVersionLimit);
  if (!run.problem.empty()) return {.problem = run.problem + " when asked for its version"};
  // "Cuda compilation tools, release 13.0, V13.0.88"
  int major = 0, minor = 0, build = 0;
  const size_t at = run.output.find(", V");
  if (at == std::string::npos ||
      std::sscanf(run.output.c_str() + at, ", V%d.%d.%d", &major, &minor, &build) != 3)
    return {.problem = "does not tell its version"};
  return {.release = 1000 * major + 10 * minor, .text = fmt::format("{}.{}.{}", major, minor, build)};
}

}  // namespace

PtxasSearch find_ptxas(const std::function<const char*(const char*)>& variable) {
  const auto value = [&](const char* name) {
    const char* text = variable(name);
    return std::string(text ? text : "");
  };
  if (const std::string named = value("HEDDLE_PTXAS"); named == "driver")
    return {.path = {}, .found_by = "HEDDLE_PTXAS", .named = true};
  else if (!named.empty())
    return {.path = named, .found_by = "HEDDLE_PTXAS", .named = true};
  PtxasSearch found;
  const auto look = [&](const std::string& folder, const char* by) {
    if (found.path.empty() && folder.starts_with('/') && can_be_executed(folder + "/ptxas"))
      found = {.path = folder + "/ptxas", .found_by = by, .named = false};
  };
  const std::string folders = value("PATH");
  for (size_t at = 0; at <= folders.size();) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    look(folders.substr(at, end - at), "PATH");
    at = end + 1;
  }
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string folder = value(name); !folder.empty()) look(folder + "/bin", name);
  look("/usr/local/cuda/bin", "the toolkit's usual folder");
  return found;
}

PtxasVersion ptxas_version(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return {.problem = fmt::format("can't be found ({})", std::generic_category().message(errno))};
  const auto state = std::make_tuple(path, status.st_dev, status.st_ino, status.st_size,
                                     status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
  static std::mutex& mutex = *new std::mutex;  // kernels may be made in destructors of static objects
  static auto& known = *new std::map<std::decay_t<decltype(state)>, PtxasVersion>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(state);
  return found != known.end() ? found->second : known[state] = ask_version(path);
}

PtxasRun run_ptxas(const std::string& path, const std::string& ptx, const std::string& architecture,
                   std::chrono::milliseconds limit) {
  const PrivateFolder folder;
  if (!folder.problem().empty()) return {.problem = folder.problem()};
  const std::string input = folder.file("kernel.ptx"), output = folder.file("kernel.cubin");
  // Without the zero that the driver wants at the end: to ptxas it is a character that makes no sense.
  std::ofstream file(input, std::ios::binary);
  if (!file.write(ptx.data(), std::streamsize(ptx.size())).flush())
    return {.problem = fmt::format("has no file to read: {} can't be written", input)};
  ProgramRun run = run_program({path, "-v", "-arch=" + architecture, "-o", output, input}, limit);
  PtxasRun result{.log = without(std::move(run.output), folder.path() + "/"),
                  .problem = std::move(run.problem)};
  if (!result.problem.empty()) return result;
  std::error_code ignored;
  std::ifstream cubin;
  if (fs::is_regular_file(output, ignored)) cubin.open(output, std::ios::binary);
  result.cubin.assign(std::istreambuf_iterator<char>(cubin), {});
  if (result.cubin.starts_with("\177ELF")) return result;
  result.cubin.clear();
  result.problem = "ended well, but made no cubin";
  return result;
}

}  // namespace heddle::runtime::cuda
