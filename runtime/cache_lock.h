// One process at a time makes a key's entry: an advisory lock on a file beside the entry. A killed holder's
// lock is released by the system. Where locks don't work, entries are merely made twice.
#pragma once

#include <string>

#include "runtime/file_descriptor.h"

namespace heddle::runtime {

class CacheLock {
 public:
  explicit CacheLock(std::string path) : path_(std::move(path)) {}
  CacheLock(const CacheLock&) = delete;
  ~CacheLock();  // releases, and removes the file

  enum class Attempt { held, busy, unavailable };
  Attempt try_acquire();

 private:
  std::string path_;
  FileDescriptor file_;
};

}  // namespace heddle::runtime
