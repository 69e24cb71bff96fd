// Keeps what was expensive to make: each key is made once, across threads, processes and time. Knows
// everything about caching and nothing about compiling. Its troubles never become the caller's: where the
// disk fails, there is one warning and entries are kept in memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/cache_entry.h"

namespace heddle::runtime {

// Where an entry came from.
struct CacheOutcome {
  enum class Source { made, disk, memory };
  Source source = Source::made;
  std::string path;  // of the file that holds it; empty if it is in memory only
};

class Cache {
 public:
  // Keeps files in `directory` (an absolute path; created on first use), or only memory if that is empty.
  explicit Cache(std::string directory);
  ~Cache();

  // The entry made from exactly this key text: found, or made by `make`, which several threads or processes
  // asking at once call only once. What `make` throws goes to all threads that waited for it, and nothing is
  // kept. `kernel_name` makes the file's name readable.
  std::shared_ptr<const Entry> get_or_create(std::string_view kernel_name, std::string_view key_text,
                                             const std::function<Entry()>& make,
                                             CacheOutcome* outcome = nullptr);

  // The cache of this process, in the folder that the environment names.
  static Cache& of_process();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heddle::runtime
