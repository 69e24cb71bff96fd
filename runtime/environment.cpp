#include "runtime/environment.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <string_view>

#include "runtime/log.h"

namespace heddle::runtime {

namespace {

// All that are read anywhere in the library; a test compares with the sources and with README.md.
constexpr std::string_view kVariables[] = {
    "HEDDLE_CACHE_DIR", "HEDDLE_DUMP", "HEDDLE_DUMP_DIR", "HEDDLE_LOG", "HEDDLE_NUM_THREADS", "HEDDLE_PTXAS",
};

}  // namespace

void check_environment() {
  // No lock is held while it is told: a log sink may launch a kernel, which asks again.
  static std::atomic_flag checked;
  if (checked.test_and_set()) return;
  log_level();  // reads its own variable when it is first asked for
  std::string unknown;
  for (char** line = environ; line && *line; ++line) {
    const std::string_view text = *line;
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("HEDDLE_") &&
        std::find(std::begin(kVariables), std::end(kVariables), name) == std::end(kVariables))
      (unknown += unknown.empty() ? "" : ", ") += name;
  }
  if (!unknown.empty())
    log(LogLevel::warning, "nothing reads {}; the variables are {}", unknown, fmt::join(kVariables, ", "));
}

}  // namespace heddle::runtime
