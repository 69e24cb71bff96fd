#include "runtime/cache_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>

#include "runtime/file_descriptor.h"

namespace heddle::runtime {
namespace {

constexpr size_t kNameBytes = 48;              // of a kernel's name in a file's name, whose limit is 255
constexpr time_t kLeftoverSeconds = 3600;      // no compile takes that long
constexpr size_t kMostEntryBytes = 256 << 20;  // entries are some kilobytes, seldom megabytes

std::string system_reason() {
  return std::generic_category().message(errno);
}

// Empty for the root, and for a relative path's first folder.
std::string parent_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string() : path.substr(0, slash);
}

// mkdir -p, private to the user. Leaves errno on failure.
bool make_folders(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || parent_of(path).empty()) return false;
  return make_folders(parent_of(path)) && (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

// Whether this user or root owns it and not everybody may write to it; else why not.
bool is_trusted(const struct stat& status, std::string& problem) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    problem = fmt::format("it belongs to user {}, who could plant code in it", status.st_uid);
    return false;
  }
  if (status.st_mode & S_IWOTH) {
    problem = "everybody may write to it and could plant code";
    return false;
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(written);
  }
  return true;
}

// A file beside `path` that nobody else writes to.
FileDescriptor create_temporary(const std::string& path, std::string& name) {
  static std::atomic<unsigned> counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = fmt::format("{}.{}-{}.tmp", path, ::getpid(), counter++);
    FileDescriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    // The name is taken when a killed process had our number, or one in another container has it.
    if (file || errno != EEXIST) return file;
  }
  return FileDescriptor();
}

// Temporaries and lock files whose makers were killed. Removing a lock that is held after all costs a second
// compile.
void remove_leftovers(const std::string& folder) {
  const auto close = [](DIR* listing) { ::closedir(listing); };
  const std::unique_ptr<DIR, decltype(close)> listing(::opendir(folder.c_str()));
  if (!listing) return;
  while (const dirent* item = ::readdir(listing.get())) {
    const std::string_view name = item->d_name;
    struct stat status;
    if ((name.ends_with(".tmp") || name.ends_with(".lock")) &&
        ::fstatat(::dirfd(listing.get()), item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_mtime < ::time(nullptr) - kLeftoverSeconds)
      ::unlinkat(::dirfd(listing.get()), item->d_name, 0);
  }
}

}  // namespace

std::string cache_directory(const std::function<const char*(const char*)>& variable) {
  const auto value = [&](const char* name) {
    const char* text = variable(name);
    return std::string(text ? text : "");
  };
  if (const std::string named = value("HEDDLE_CACHE_DIR"); !named.empty()) {
    std::error_code failed;  // the working folder may be gone
    std::string absolute = std::filesystem::absolute(named, failed).lexically_normal();
    if (failed) absolute = named;
    while (absolute.size() > 1 && absolute.ends_with('/')) absolute.pop_back();
    return absolute;
  }
  if (const std::string base = value("XDG_CACHE_HOME"); base.starts_with('/')) return base + "/heddle";
  if (const std::string home = value("HOME"); home.starts_with('/')) return home + "/.cache/heddle";
  return {};
}

bool open_cache_directory(const std::string& directory, std::string& problem) {
  struct stat status;
  if (directory == "/") {
    problem = "it is the root folder";
    return false;
  }
  if (!make_folders(directory) || ::stat(directory.c_str(), &status) != 0) {
    problem = system_reason();
    return false;
  }
  if (!S_ISDIR(status.st_mode)) {
    problem = "it is no folder";
    return false;
  }
  return is_trusted(status, problem);
}

std::string cache_file_path(const std::string& directory, std::string_view kernel_name, const Key& key) {
  std::string name(kernel_name.substr(0, kNameBytes));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!plain) c = '_';
  }
  const std::string hex = key.hex();
  return fmt::format("{}/{}/{}-{}.heddle", directory, hex.substr(0, 2), name.empty() ? "kernel" : name, hex);
}

CacheRead read_cache_file(const std::string& path, std::string_view key_text, Entry& entry,
                          std::string& problem) {
  // O_NONBLOCK: a pipe of that name must not stop us.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) {
    problem = system_reason();
    if (errno == ENOENT || errno == ENOTDIR) return CacheRead::absent;
    return errno == ELOOP || errno == ENXIO ? CacheRead::damaged : CacheRead::unreadable;
  }
  struct stat status;
  if (::fstat(file.get(), &status) != 0) {
    problem = system_reason();
    return CacheRead::unreadable;
  }
  if (!S_ISREG(status.st_mode)) {
    problem = "it is no file";
    return CacheRead::damaged;
  }
  // The fan-out folder may be open to others even where the cache's own is not.
  if (!is_trusted(status, problem)) return CacheRead::damaged;
  // Before any memory is taken: a sparse file can be longer than all there is.
  if (size_t(status.st_size) > kMostEntryBytes) {
    problem =
        fmt::format("it is {} bytes long, and entries have at most {}", status.st_size, kMostEntryBytes);
    return CacheRead::damaged;
  }
  std::string bytes(size_t(status.st_size), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      problem = system_reason();
      return CacheRead::unreadable;
    }
    if (got == 0) break;
    filled += got;
  }
  return decode_entry(std::string_view(bytes).substr(0, filled), key_text, entry, problem)
             ? CacheRead::hit
             : CacheRead::damaged;
}

bool publish_cache_file(const std::string& path, std::string_view bytes, std::string& problem) {
  if (bytes.size() > kMostEntryBytes) {  // nobody would read it
    problem = fmt::format("an entry has {} bytes, more than {}", bytes.size(), kMostEntryBytes);
    return false;
  }
  std::string temporary;
  FileDescriptor file = create_temporary(path, temporary);
  if (!file) {
    problem = system_reason();
    return false;
  }
  // Without fsync, a machine that loses power could keep the new name and lose the bytes.
  bool done = write_all(file.get(), bytes) && ::fsync(file.get()) == 0;
  if (!done) problem = system_reason();
  if (!file.close() && done) {
    problem = system_reason();
    done = false;
  }
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) {
    // An (empty) folder in the entry's place is the one thing that rename does not replace.
    done = errno == EISDIR && ::rmdir(path.c_str()) == 0 && ::rename(temporary.c_str(), path.c_str()) == 0;
    if (!done) problem = system_reason();
  }
  if (!done) ::unlink(temporary.c_str());
  remove_leftovers(parent_of(path));
  return done;
}

}  // namespace heddle::runtime
