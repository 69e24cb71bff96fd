#include "runtime/cache_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace heddle::runtime {

CacheLock::Attempt CacheLock::try_acquire() {
  FileDescriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file) return Attempt::unavailable;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK || errno == EINTR ? Attempt::busy : Attempt::unavailable;
  // The holder before us removes the file: a lock on a file that no longer has the name protects nothing.
  struct stat ours, named;
  if (::fstat(file.get(), &ours) != 0 || ::stat(path_.c_str(), &named) != 0 || ours.st_ino != named.st_ino ||
      ours.st_dev != named.st_dev)
    return Attempt::busy;
  file_ = std::move(file);
  return Attempt::held;
}

CacheLock::~CacheLock() {
  if (!file_) return;
  ::unlink(path_.c_str());
  ::flock(file_.get(), LOCK_UN);  // a forked child may still have the descriptor open
}

}  // namespace heddle::runtime
