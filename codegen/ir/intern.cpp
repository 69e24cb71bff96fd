// The table behind intern(): grows with the number of distinct names, never shrinks.
#include "codegen/ir/intern.h"

#include <mutex>
#include <set>
#include <string>

namespace heddle {

const char* intern(std::string_view text) {
  // Leaked on purpose: the strings must outlive every static destructor.
  static std::mutex& mutex = *new std::mutex;
  static auto& strings = *new std::set<std::string, std::less<>>;
  std::lock_guard lock(mutex);
  auto found = strings.find(text);
  if (found == strings.end()) found = strings.emplace(text).first;
  return found->c_str();
}

}  // namespace heddle
