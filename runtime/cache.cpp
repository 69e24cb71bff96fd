#include "runtime/cache.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "codegen/ir/fail.h"
#include "runtime/cache_disk.h"
#include "runtime/cache_lock.h"
#include "runtime/log.h"

namespace heddle::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using EntryPointer = std::shared_ptr<const Entry>;

// How long to wait for another process that makes the same entry before making it here as well: longer than
// any compile, shorter than a person's belief that the program hangs on a stopped process.
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kFirstPause = std::chrono::microseconds(500), kLongestPause = std::chrono::microseconds(16000);

struct Found {
  EntryPointer entry;
  CacheOutcome outcome;
};

// One key being looked up or made; later askers wait for the result.
struct Flight {
  std::thread::id owner = std::this_thread::get_id();
  std::promise<Found> promise;
  std::shared_future<Found> result = promise.get_future().share();
};

}  // namespace

struct Cache::State {
  const std::string directory;
  std::once_flag opened;
  std::atomic<bool> readable{true}, writable{true};  // files; each goes from true to false at most once
  std::atomic<bool> warned{false};

  std::mutex mutex;  // guards the two maps; never held while something is read or made
  std::unordered_map<std::string, std::shared_ptr<Flight>> in_flight;
  std::unordered_map<std::string, EntryPointer> kept;  // entries that no file holds

  explicit State(std::string directory) : directory(std::move(directory)) {}

  void warn_once(const std::string& what) {
    if (!warned.exchange(true)) log(LogLevel::warning, "{}", what);
  }

  // Opens the folder, the first time it is called. The warning comes when nothing is locked any more: a log
  // sink may launch a kernel, which asks the cache.
  void open_directory() {
    std::string warning;
    std::call_once(opened, [&] {
      warning = why_unusable();
      if (!warning.empty()) readable = writable = false;
    });
    if (!warning.empty()) warn_once(warning);
  }

  // Empty if the folder is there and may be used.
  std::string why_unusable() const {
    if (directory.empty())
      return "none of HEDDLE_CACHE_DIR, XDG_CACHE_HOME and HOME names a folder, so compiled kernels are kept "
             "in "
             "memory only; set HEDDLE_CACHE_DIR to keep them on disk";
    std::string problem;
    if (open_cache_directory(directory, problem)) return {};
    return fmt::format(
        "the kernel cache {} can't be used ({}), so compiled kernels are kept in memory only; set "
        "HEDDLE_CACHE_DIR to a folder of your own",
        directory, problem);
  }

  // What stands in an entry's place: the entry, or why it must be made.
  struct Reading {
    EntryPointer entry;
    bool replaceable;
    std::string damage;  // of what may be replaced
  };

  Reading read(const std::string& path, std::string_view key_text) {
    Entry entry;
    std::string problem;
    switch (read_cache_file(path, key_text, entry, problem)) {
      case CacheRead::hit: return {std::make_shared<const Entry>(std::move(entry)), true, {}};
      case CacheRead::absent: break;
      case CacheRead::damaged: return {nullptr, true, problem};
      case CacheRead::unreadable:
        warn_once(fmt::format("cache file {} can't be read ({}), so its kernel is compiled again each time",
                              path, problem));
        return {nullptr, false, {}};
    }
    return {nullptr, true, {}};
  }

  void stop_writing(const std::string& problem) {
    writable = false;
    warn_once(fmt::format(
        "the kernel cache {} can't be written ({}), so kernels compiled from now on are kept in memory only; "
        "set HEDDLE_CACHE_DIR to a folder with room",
        directory, problem));
  }

  // False: the entry is in no file, and why has been said.
  bool publish(const std::string& path, std::string_view key_text, const Entry& entry) {
    std::string problem;
    if (publish_cache_file(path, encode_entry(key_text, entry), problem)) return true;
    stop_writing(problem);
    return false;
  }

  Found look_up_or_make(std::string_view kernel_name, std::string_view key_text,
                        const std::function<Entry()>& make) {
    using Source = CacheOutcome::Source;
    open_directory();
    if (!readable) return {std::make_shared<const Entry>(make()), {}};

    const std::string path = cache_file_path(directory, kernel_name, key_of(key_text));
    Reading found = read(path, key_text);
    if (found.entry) return {found.entry, {Source::disk, path}};
    if (!found.replaceable || !writable) return {std::make_shared<const Entry>(make()), {}};

    std::string problem;
    if (!open_cache_directory(path.substr(0, path.rfind('/')), problem)) {
      stop_writing(problem);
      return {std::make_shared<const Entry>(make()), {}};
    }
    CacheLock lock(path + ".lock");
    const Clock::time_point limit = Clock::now() + kPatience;
    for (auto pause = kFirstPause; lock.try_acquire() == CacheLock::Attempt::busy && Clock::now() < limit;
         pause = std::min(pause * 2, kLongestPause)) {
      std::this_thread::sleep_for(pause);
      if (found = read(path, key_text); found.entry) return {found.entry, {Source::disk, path}};
    }
    // Whoever held the lock may have published between our reading and our locking.
    if (found = read(path, key_text); found.entry) return {found.entry, {Source::disk, path}};
    if (!found.damage.empty()) log(LogLevel::info, "cache file {} is made again: {}", path, found.damage);
    auto entry = std::make_shared<const Entry>(make());
    if (!found.replaceable) return {entry, {}};
    return {entry, {Source::made, publish(path, key_text, *entry) ? path : std::string()}};
  }
};

Cache::Cache(std::string directory) : state_(std::make_unique<State>(std::move(directory))) {}
Cache::~Cache() = default;

std::shared_ptr<const Entry> Cache::get_or_create(std::string_view kernel_name, std::string_view key_text,
                                                  const std::function<Entry()>& make, CacheOutcome* outcome) {
  const std::string key(key_text);
  const auto mine = std::make_shared<Flight>();
  std::shared_ptr<Flight> flight;
  {
    const std::lock_guard lock(state_->mutex);
    if (const auto kept = state_->kept.find(key); kept != state_->kept.end()) {
      if (outcome) *outcome = {CacheOutcome::Source::memory, {}};
      return kept->second;
    }
    flight = state_->in_flight.try_emplace(key, mine).first->second;
  }
  if (flight != mine) {
    if (flight->owner == std::this_thread::get_id())
      fail(ErrorKind::internal, {}, "making the cache entry of '{}' asks for the same entry", kernel_name);
    const Found& found = flight->result.get();  // rethrows what the maker threw
    if (outcome) *outcome = {CacheOutcome::Source::memory, found.outcome.path};
    return found.entry;
  }
  const auto land = [&] {  // with state_->mutex held
    state_->in_flight.erase(key);
  };
  try {
    Found found = state_->look_up_or_make(kernel_name, key_text, make);
    {
      const std::lock_guard lock(state_->mutex);
      land();
      if (found.outcome.path.empty()) state_->kept.emplace(key, found.entry);
    }
    if (outcome) *outcome = found.outcome;
    EntryPointer entry = found.entry;
    mine->promise.set_value(std::move(found));
    return entry;
  } catch (...) {
    {
      const std::lock_guard lock(state_->mutex);
      land();
    }
    mine->promise.set_exception(std::current_exception());
    throw;
  }
}

Cache& Cache::of_process() {
  // Never destroyed: kernels may be launched from destructors of static objects.
  static Cache* const cache = new Cache(cache_directory([](const char* name) { return std::getenv(name); }));
  return *cache;
}

}  // namespace heddle::runtime
