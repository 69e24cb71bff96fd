// The cache between processes: this program starts itself again, as the helper case below.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "runtime/cache.h"
#include "tests/support/files.h"
#include "tests/support/log_capture.h"
#include "tests/support/temporary_folder.h"

using namespace heddle::runtime;
using namespace heddle::test;
namespace fs = std::filesystem;
using Source = CacheOutcome::Source;

namespace {

const std::string kData(3000, 'd');

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void append_line(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const std::string text = line + "\n";
  if (::write(fd, text.data(), text.size()) != ssize_t(text.size())) _exit(9);
  ::close(fd);
}

pid_t start_helper(std::map<std::string, std::string> environment) {
  std::vector<std::string> arguments = {"/proc/self/exe", "--no-skip", "--test-case=helper: ask the cache"};
  environment["HEDDLE_HELPER"] = "1";
  for (const char* inherited : {"PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"})
    if (std::getenv(inherited)) environment[inherited] = std::getenv(inherited);
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  std::vector<char*> argv, envp;
  for (std::string& text : arguments) argv.push_back(text.data());
  for (std::string& text : variables) envp.push_back(text.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  REQUIRE(::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), envp.data()) == 0);
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

// The exit status, or minus the signal.
int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

size_t lines_of(const fs::path& file, const std::string& containing = "") {
  size_t count = 0;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) count += line.find(containing) != std::string::npos;
  return count;
}

bool is_hit(const fs::path& directory, const std::string& text = "k") {
  Cache cache(directory.string());
  CacheOutcome outcome;
  const auto entry = cache.get_or_create("kernel", text, [] { return Entry{{{"object", kData}}}; }, &outcome);
  CHECK(*entry->find("object") == kData);
  return outcome.source == Source::disk;
}

}  // namespace

// Asks HEDDLE_CACHE_DIR for key "k" (or HELPER_KEYS keys) and appends to the file HELPER_LOG a line "made"
// for each call of the maker, a line "warning" for each warning, and a line "right" for each right result.
TEST_CASE("helper: ask the cache" * doctest::skip()) {
  if (variable("HEDDLE_HELPER").empty()) return;  // run by hand with --no-skip
  const std::string journal = variable("HELPER_LOG");
  set_log_sink([&](LogLevel, const std::string& message) { append_line(journal, "warning " + message); });
  if (const std::string limit = variable("HELPER_FILE_LIMIT"); !limit.empty()) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit bytes{rlim_t(std::stol(limit)), rlim_t(std::stol(limit))};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &bytes) == 0);
  }
  if (const std::string user = variable("HELPER_USER"); !user.empty())
    REQUIRE(::setuid(std::stol(user)) == 0);
  const std::string keys = variable("HELPER_KEYS");
  for (int round = 0; round < (keys.empty() ? 1 : std::stoi(keys)); ++round) {
    const std::string text = round == 0 ? "k" : "k" + std::to_string(round);
    const auto make = [&] {
      append_line(journal, "made " + text);
      std::this_thread::sleep_for(std::chrono::milliseconds(variable("HELPER_SLOW").empty() ? 30 : 100000));
      return Entry{{{"object", kData}}};
    };
    const auto entry = Cache::of_process().get_or_create("kernel", text, make);
    if (*entry->find("object") == kData) append_line(journal, "right");
  }
  _exit(0);  // without doctest's report
}

TEST_CASE("sixteen processes asking for four keys make each once") {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "cache", journal = folder.path() / "journal";
  std::vector<pid_t> helpers;
  for (int i = 0; i < 16; ++i)
    helpers.push_back(start_helper(
        {{"HEDDLE_CACHE_DIR", cache.string()}, {"HELPER_LOG", journal.string()}, {"HELPER_KEYS", "4"}}));
  for (const pid_t helper : helpers) CHECK(wait_for(helper) == 0);
  CHECK(lines_of(journal, "right") == 64);
  for (const char* line : {"made k", "made k1", "made k2", "made k3"}) CHECK(lines_of(journal, line) >= 1);
  CHECK(lines_of(journal, "made") == 4);
  CHECK(lines_of(journal, "warning") == 0);
  CHECK(files_below(cache).size() == 4);
}

TEST_CASE("a killed maker's key is made by the next process at once") {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "cache", journal = folder.path() / "journal";
  const pid_t slow = start_helper(
      {{"HEDDLE_CACHE_DIR", cache.string()}, {"HELPER_LOG", journal.string()}, {"HELPER_SLOW", "1"}});
  while (lines_of(journal, "made") == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const pid_t waiting =
      start_helper({{"HEDDLE_CACHE_DIR", cache.string()}, {"HELPER_LOG", journal.string()}});
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  CHECK(lines_of(journal, "made") == 1);  // the second waits for the first
  ::kill(slow, SIGKILL);
  CHECK(wait_for(slow) == -SIGKILL);
  CHECK(wait_for(waiting) == 0);
  CHECK(lines_of(journal, "right") == 1);
  CHECK(is_hit(cache));
}

TEST_CASE("processes killed at random moments leave nothing that is taken for an entry") {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "cache", journal = folder.path() / "journal";
  for (int round = 0; round < 40; ++round) {
    // Starting takes some milliseconds, each of the keys thirty, of which writing is a small part.
    const pid_t helper = start_helper(
        {{"HEDDLE_CACHE_DIR", cache.string()}, {"HELPER_LOG", journal.string()}, {"HELPER_KEYS", "1000"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + round * 3));
    ::kill(helper, SIGKILL);
    CHECK(wait_for(helper) == -SIGKILL);
  }
  CHECK(lines_of(journal, "warning") == 0);
  for (int round = 0; round < 5; ++round) is_hit(cache, round == 0 ? "k" : "k" + std::to_string(round));
}

TEST_CASE("a process killed while it writes leaves a temporary that nobody reads") {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "cache", journal = folder.path() / "journal";
  CHECK_FALSE(is_hit(cache));
  const fs::path entry = files_below(cache).at(0);
  const std::string bytes = read_file(entry);
  fs::remove(entry);
  // What a kill between any two writes leaves: a part of the bytes under a temporary name.
  write_file(entry.string() + ".77-0.tmp", bytes.substr(0, bytes.size() / 2));
  CHECK_FALSE(is_hit(cache));
  CHECK(is_hit(cache));
}

TEST_CASE("a full disk costs one warning and no result") {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "cache", journal = folder.path() / "journal";
  // The limit is above the journal's size and below an entry's.
  const pid_t helper = start_helper({{"HEDDLE_CACHE_DIR", cache.string()},
                                     {"HELPER_LOG", journal.string()},
                                     {"HELPER_KEYS", "3"},
                                     {"HELPER_FILE_LIMIT", "2000"}});
  CHECK(wait_for(helper) == 0);
  CHECK(lines_of(journal, "right") == 3);
  CHECK(lines_of(journal, "warning") == 1);
  CHECK(lines_of(journal, "can't be written (File too large)") == 1);
  CHECK(files_below(cache).empty());  // no half-written file, no lock
}

TEST_CASE("a folder that may only be read gives hits, and one warning for what it lacks") {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "cache", journal = folder.path() / "journal";
  CHECK_FALSE(is_hit(cache));
  write_file(journal, "");
  fs::permissions(journal, fs::perms::all);
  fs::permissions(folder.path(), fs::perms(0755));
  const auto set_permissions = [&](int folders, int files) {
    for (const auto& item : fs::recursive_directory_iterator(cache))
      fs::permissions(item.path(), fs::perms(item.is_directory() ? folders : files));
    fs::permissions(cache, fs::perms(folders));
  };
  set_permissions(0555, 0444);
  std::map<std::string, std::string> environment = {
      {"HEDDLE_CACHE_DIR", cache.string()}, {"HELPER_LOG", journal.string()}, {"HELPER_KEYS", "3"}};
  if (::geteuid() == 0) environment["HELPER_USER"] = "65534";  // nothing is read-only to root
  CHECK(wait_for(start_helper(environment)) == 0);
  CHECK(lines_of(journal, "right") == 3);
  CHECK(lines_of(journal, "made") == 2);  // k1 and k2; k was there
  CHECK(lines_of(journal, "warning") == 1);
  CHECK(lines_of(journal, "can't be written (Permission denied)") == 1);
}

TEST_CASE("an entry that the system won't let us read stays as it is") {
  const TemporaryFolder folder;
  const fs::path cache = folder.path() / "cache", journal = folder.path() / "journal";
  CHECK_FALSE(is_hit(cache));
  const fs::path entry = files_below(cache).at(0);
  const std::string bytes = read_file(entry);
  write_file(journal, "");
  fs::permissions(journal, fs::perms::all);
  fs::permissions(folder.path(), fs::perms(0755));
  fs::permissions(entry, fs::perms::none);
  std::map<std::string, std::string> environment = {{"HEDDLE_CACHE_DIR", cache.string()},
                                                    {"HELPER_LOG", journal.string()}};
  if (::geteuid() == 0) {  // to root everything is readable
    environment["HELPER_USER"] = "65534";
    for (const fs::path& path : {cache, entry.parent_path(), entry})
      REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  }
  struct stat before, after;
  REQUIRE(::stat(entry.c_str(), &before) == 0);
  CHECK(wait_for(start_helper(environment)) == 0);
  CHECK(lines_of(journal, "right") == 1);
  CHECK(lines_of(journal, "warning") == 1);
  CHECK(lines_of(journal, "can't be read (Permission denied)") == 1);
  REQUIRE(::stat(entry.c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  fs::permissions(entry, fs::perms::owner_read);
  CHECK(read_file(entry) == bytes);
}

TEST_CASE("without HOME a process warns once and works") {
  const TemporaryFolder folder;
  const fs::path journal = folder.path() / "journal";
  CHECK(wait_for(start_helper({{"HELPER_LOG", journal.string()}, {"HELPER_KEYS", "2"}})) == 0);
  CHECK(lines_of(journal, "right") == 2);
  CHECK(lines_of(journal, "warning") == 1);
}

TEST_CASE("a home folder gets its cache at .cache/heddle") {
  const TemporaryFolder folder;
  const fs::path journal = folder.path() / "journal";
  CHECK(wait_for(start_helper({{"HELPER_LOG", journal.string()}, {"HOME", folder.path().string()}})) == 0);
  CHECK(files_below(folder.path() / ".cache" / "heddle").size() == 1);
}
