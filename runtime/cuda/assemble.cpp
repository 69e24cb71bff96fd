#include "runtime/cuda/assemble.h"

#include <cstdlib>
#include <mutex>
#include <set>

#include "codegen/ir/fail.h"
#include "runtime/log.h"

namespace heddle::runtime::cuda {

namespace {

// The word after a directive in PTX's head, such as "8.0" after ".version".
std::string directive(const std::string& ptx, const char* name) {
  const size_t at = ptx.find(name);
  if (at == std::string::npos) return {};
  const size_t begin = ptx.find_first_not_of(' ', at + std::char_traits<char>::length(name));
  return ptx.substr(begin, ptx.find_first_of(", \r\n", begin) - begin);
}

Entry by_ptxas(const Assembler& assembler, const std::string& ptx, const std::string& architecture,
               const KernelSource& source, Location where) {
  PtxasRun run = run_ptxas(assembler.path, ptx, architecture);
  while (run.log.ends_with('\n')) run.log.pop_back();
  if (!run.problem.empty())
    fail(ErrorKind::compile, where, "assembling kernel '{}', PTX {} for {}, with {} ({}) failed: it {}{}{}",
         source.name, directive(ptx, ".version"), architecture, assembler.name, assembler.path, run.problem,
         run.log.empty() ? "" : " and says: ", run.log);
  return {{{"cubin", std::move(run.cubin)}, {"log", std::move(run.log)}}};
}

Entry by_driver(const Assembler& assembler, const std::string& ptx, const KernelSource& source,
                const DeviceInfo& device, Location where) {
  const Api& api = driver(where);
  const ContextScope scope(device, where);
  const std::string doing = fmt::format("assembling kernel '{}', PTX {} for sm_{}, with the assembler of {}",
                                        source.name, directive(ptx, ".version"), device.sm, assembler.name);
  char said[16384] = "", errors[4096] = "";
  JitOption options[] = {kJitInfoLogBuffer, kJitInfoLogBufferSizeBytes, kJitErrorLogBuffer,
                         kJitErrorLogBufferSizeBytes, kJitLogVerbose};
  void* values[] = {said, reinterpret_cast<void*>(sizeof said - 1), errors,
                    reinterpret_cast<void*>(sizeof errors - 1), reinterpret_cast<void*>(1)};
  Link link = nullptr;
  check(api.link_create(5, options, values, &link), where, doing.c_str());
  void* cubin = nullptr;
  size_t size = 0;
  Result result = api.link_add(link, kJitInputPtx, const_cast<char*>(ptx.c_str()), ptx.size() + 1,
                               source.name, 0, nullptr, nullptr);
  if (result == kSuccess) result = api.link_complete(link, &cubin, &size);
  std::string code;
  if (result == kSuccess) code.assign(static_cast<const char*>(cubin), size);
  api.link_destroy(link);
  // A refusal for the driver's own reasons keeps its kind and advice; the log is about the text.
  if (result == kInvalidPtx && *errors)
    fail(ErrorKind::compile, where, "{} failed; the assembler says: {}", doing, errors);
  check(result, where,
        *errors ? fmt::format("{} (the assembler says: {})", doing, errors).c_str() : doing.c_str());
  return {{{"cubin", std::move(code)}, {"log", said}}};
}

// Assemblers that turned out not to work, each for an architecture: they are asked once a process.
class Unusable {
 public:
  // True the first time.
  bool add(const Assembler& assembler, const std::string& architecture) {
    const std::lock_guard lock(mutex_);
    return known_.insert(name(assembler, architecture)).second;
  }
  bool has(const Assembler& assembler, const std::string& architecture) const {
    const std::lock_guard lock(mutex_);
    return known_.count(name(assembler, architecture));
  }

 private:
  static std::string name(const Assembler& assembler, const std::string& architecture) {
    return assembler.name + ' ' + assembler.path + ' ' + architecture;
  }
  mutable std::mutex mutex_;
  std::set<std::string> known_;
};

}  // namespace

std::string architecture_of(const std::string& ptx, int sm) {
  const std::string target = directive(ptx, ".target");
  return target.ends_with('a') || target.ends_with('f') ? target : fmt::format("sm_{}", sm);
}

AssemblerChoice choose_assembler(const PtxasSearch& search, const PtxasVersion& ptxas, int driver_version) {
  const Assembler driver{.name = "driver " + cuda_version(driver_version)};
  if (search.path.empty())
    return {{driver},
            search.named ? "HEDDLE_PTXAS asks for the driver's assembler"
                         : "no ptxas is in the folders of PATH, in $CUDA_HOME/bin, $CUDA_PATH/bin or "
                           "/usr/local/cuda/bin"};
  const std::string where =
      fmt::format("{}, {} {},", search.path, search.named ? "named by" : "found by", search.found_by);
  if (!ptxas.problem.empty()) return {{driver}, fmt::format("{} {}", where, ptxas.problem)};
  const std::string found = fmt::format("ptxas {}, {}", ptxas.text, where);
  const Assembler program{.name = "ptxas " + ptxas.text, .path = search.path, .named = search.named};
  if (ptxas.release / 1000 > driver_version / 1000)
    return {{driver}, fmt::format("{} makes what drivers of CUDA {} load", found, ptxas.release / 1000)};
  if (search.named) return {{program, driver}, found + " is taken"};
  if (ptxas.release / 10 > driver_version / 10)
    return {{program, driver}, found + " is newer than the driver's"};
  return {{driver, program}, found + " is not newer than the driver's"};
}

void assemble(const KernelSource& source, const std::string& ptx, const DeviceInfo& device, Location where,
              const std::function<void(const Assembled&)>& load) {
  static Unusable& unusable = *new Unusable;  // kernels may be made in destructors of static objects
  int version = 0;
  check(driver(where).driver_version(&version), where, "asking for the driver's version");
  const PtxasSearch search = find_ptxas([](const char* name) { return std::getenv(name); });
  const PtxasVersion ptxas = search.path.empty() ? PtxasVersion() : ptxas_version(search.path);
  const AssemblerChoice choice = choose_assembler(search, ptxas, version);
  const std::string architecture = architecture_of(ptx, device.sm);
  if (search.named && !search.path.empty() && choice.order[0].path.empty() &&
      unusable.add({.path = search.path}, architecture))
    log(LogLevel::warning, "{} and is not used; {} assembles", choice.why, choice.order[0].name);
  for (size_t i = 0;; ++i) {
    const Assembler& assembler = choice.order[i];
    const bool last = i + 1 == choice.order.size();
    if (!last && unusable.has(assembler, architecture)) continue;
    log(LogLevel::debug, "kernel '{}' is for {}: {}", source.name, assembler.name, choice.why);
    Assembled result{.entry = nullptr, .by = assembler.name, .outcome = {}};
    try {
      result.entry = Cache::of_process().get_or_create(
          source.name, fmt::format("cubin {} by {}\n{}", architecture, assembler.name, ptx),
          [&] {
            return assembler.path.empty() ? by_driver(assembler, ptx, source, device, where)
                                          : by_ptxas(assembler, ptx, architecture, source, where);
          },
          &result.outcome);
      load(result);
      return;
    } catch (const Error& error) {
      // No ptxas makes a program fail that runs without it, and no driver one that ptxas helps. But where the
      // driver refuses the text, or has no memory, there is nothing to go on with.
      const bool helps = error.kind() == ErrorKind::unsupported ||
                         (error.kind() == ErrorKind::compile && !assembler.path.empty());
      if (last || !helps) throw;
      if (unusable.add(assembler, architecture))
        log(assembler.named ? LogLevel::warning : LogLevel::info, "{}; {} assembles instead", error.message(),
            choice.order[i + 1].name);
    }
  }
}

}  // namespace heddle::runtime::cuda
