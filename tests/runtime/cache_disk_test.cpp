#include "runtime/cache_disk.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

using namespace heddle::runtime;
using namespace heddle::test;
namespace fs = std::filesystem;

namespace {

std::string directory_for(const std::map<std::string, std::string>& environment) {
  return cache_directory([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

CacheRead read(const fs::path& path, std::string_view text = "k") {
  Entry entry;
  std::string problem;
  return read_cache_file(path.string(), text, entry, problem);
}

}  // namespace

TEST_CASE("the folder follows HEDDLE_CACHE_DIR, then the XDG rules, then HOME") {
  CHECK(directory_for({{"HEDDLE_CACHE_DIR", "/a"}, {"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}) == "/a");
  CHECK(directory_for({{"HEDDLE_CACHE_DIR", ""}, {"XDG_CACHE_HOME", "/b"}, {"HOME", "/c"}}) == "/b/heddle");
  CHECK(directory_for({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/c"}}) == "/c/.cache/heddle");
  CHECK(directory_for({{"XDG_CACHE_HOME", ""}, {"HOME", "/c"}}) == "/c/.cache/heddle");
  CHECK(directory_for({{"HOME", "/c"}}) == "/c/.cache/heddle");
  CHECK(directory_for({{"HOME", "relative"}}).empty());
  CHECK(directory_for({}).empty());
}

TEST_CASE("a relative HEDDLE_CACHE_DIR is taken from the working folder") {
  CHECK(directory_for({{"HEDDLE_CACHE_DIR", "x/../y/"}}) == (fs::current_path() / "y").string());
}

TEST_CASE("file names are plain, bounded and stay in the folder, whatever the kernel is called") {
  const Key key{.hi = 0x3f00000000000000, .lo = 1};
  const std::string hex = "3f000000000000000000000000000001";
  const auto name_of = [&](std::string_view kernel) {
    const fs::path path = cache_file_path("/cache", kernel, key);
    CHECK(path.parent_path() == "/cache/3f");
    return path.filename().string();
  };
  CHECK(name_of("row_sum2") == "row_sum2-" + hex + ".heddle");
  CHECK(name_of("") == "kernel-" + hex + ".heddle");
  CHECK(name_of("../../etc/passwd") == "______etc_passwd-" + hex + ".heddle");
  CHECK(name_of("..") == "__-" + hex + ".heddle");
  CHECK(name_of(std::string_view("a\0b\n", 4)) == "a_b_-" + hex + ".heddle");
  CHECK(name_of("gr\xc3\xbc\xc3\x9f") == "gr____-" + hex + ".heddle");
  CHECK(name_of(std::string(2000, 'x')).size() == 48 + 1 + 32 + 7);
}

TEST_CASE("the folder is created private, with its parents") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a" / "b" / "heddle";
  std::string problem;
  REQUIRE(open_cache_directory(path.string(), problem));
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(open_cache_directory(path.string(), problem));  // again
}

TEST_CASE("a relative folder can't be made where the working folder is gone, and that is said") {
  const fs::path before = fs::current_path();
  {
    const TemporaryFolder gone;
    fs::current_path(gone.path());
  }
  std::string problem;
  CHECK(directory_for({{"HEDDLE_CACHE_DIR", "x"}}) == "x");
  CHECK_FALSE(open_cache_directory("x", problem));
  CHECK(problem == "No such file or directory");
  CHECK_FALSE(open_cache_directory("x/y", problem));
  fs::current_path(before);
}

TEST_CASE("a folder in which others could plant code is refused") {
  const TemporaryFolder folder;
  std::string problem;
  ::chmod(folder.path().c_str(), 0777);
  CHECK_FALSE(open_cache_directory(folder.path().string(), problem));
  CHECK(problem == "everybody may write to it and could plant code");
  ::chmod(folder.path().c_str(), 0755);
  CHECK(open_cache_directory(folder.path().string(), problem));
  if (::geteuid() == 0) {  // only root can give a folder away
    REQUIRE(::chown(folder.path().c_str(), 12345, 12345) == 0);
    CHECK_FALSE(open_cache_directory(folder.path().string(), problem));
    CHECK(problem == "it belongs to user 12345, who could plant code in it");
  }
}

TEST_CASE("a file where the folder should be is refused") {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "x");
  std::string problem;
  CHECK_FALSE(open_cache_directory((folder.path() / "file").string(), problem));
  CHECK(problem == "it is no folder");
  CHECK_FALSE(open_cache_directory((folder.path() / "file" / "below").string(), problem));
  CHECK(problem == "Not a directory");
}

TEST_CASE("what is published is read back, and replaces what was there") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "entry";
  std::string problem;
  CHECK(read(path) == CacheRead::absent);
  for (const char* data : {"first", "second"}) {
    const Entry entry{{{"object", data}}};
    REQUIRE(publish_cache_file(path.string(), encode_entry("k", entry), problem));
    Entry back;
    CHECK(read_cache_file(path.string(), "k", back, problem) == CacheRead::hit);
    CHECK(back == entry);
  }
  CHECK(files_below(folder.path()).size() == 1);
  CHECK(read(path, "another key") == CacheRead::damaged);
}

TEST_CASE("whatever stands in an entry's place is a miss, and is replaced if it can be") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "entry";
  SUBCASE("an empty file") {
    write_file(path, "");
  }
  SUBCASE("a foreign file") {
    write_file(path, "#!/bin/sh\n");
  }
  SUBCASE("a folder") {
    fs::create_directory(path);
  }
  SUBCASE("a link to a good entry elsewhere") {
    std::string problem;
    REQUIRE(publish_cache_file((folder.path() / "planted").string(), encode_entry("k", {}), problem));
    fs::create_symlink("planted", path);
  }
  SUBCASE("a dangling link") {
    fs::create_symlink("nowhere", path);
  }
  SUBCASE("a pipe") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }
  CHECK(read(path) == CacheRead::damaged);
  std::string problem;
  CHECK(publish_cache_file(path.string(), encode_entry("k", {}), problem));
  CHECK(read(path) == CacheRead::hit);
  CHECK_FALSE(fs::is_symlink(path));
}

TEST_CASE("a file longer than any entry is damage, and no memory is taken for it") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "entry";
  write_file(path, "");
  fs::resize_file(path, uintmax_t(1) << 40);  // sparse
  Entry entry;
  std::string problem;
  CHECK(read_cache_file(path.string(), "k", entry, problem) == CacheRead::damaged);
  CHECK(problem == "it is 1099511627776 bytes long, and entries have at most 268435456");
  CHECK(publish_cache_file(path.string(), encode_entry("k", {}), problem));
  CHECK(read(path) == CacheRead::hit);
  CHECK_FALSE(publish_cache_file(path.string(), std::string((256 << 20) + 1, 'x'), problem));
  CHECK(problem == "an entry has 268435457 bytes, more than 268435456");
  CHECK(read(path) == CacheRead::hit);
}

TEST_CASE("an entry that others may have written is damage, whatever it holds") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "entry";
  std::string problem;
  REQUIRE(publish_cache_file(path.string(), encode_entry("k", {}), problem));
  ::chmod(path.c_str(), 0666);
  CHECK(read(path) == CacheRead::damaged);
  REQUIRE(publish_cache_file(path.string(), encode_entry("k", {}), problem));
  CHECK(read(path) == CacheRead::hit);
  if (::geteuid() == 0) {  // only root can give a file away
    REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
    CHECK(read(path) == CacheRead::damaged);
  }
}

TEST_CASE("a folder with something in it is not deleted") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "entry";
  write_file(path / "someone's", "data");
  std::string problem;
  CHECK_FALSE(publish_cache_file(path.string(), encode_entry("k", {}), problem));
  CHECK(problem == "Directory not empty");
  CHECK(read_file(path / "someone's") == "data");
  CHECK(files_below(folder.path()).size() == 1);  // no temporary is left
}

TEST_CASE("publishing clears what killed processes left long ago, and nothing else") {
  const TemporaryFolder folder;
  const auto age = [&](const char* name, std::chrono::minutes minutes) {
    write_file(folder.path() / name, "x");
    fs::last_write_time(folder.path() / name, fs::file_time_type::clock::now() - minutes);
  };
  age("old.heddle.1-2.tmp", std::chrono::minutes(90));
  age("old.heddle.lock", std::chrono::minutes(90));
  age("young.heddle.1-2.tmp", std::chrono::minutes(5));
  age("young.heddle.lock", std::chrono::minutes(5));
  age("old.heddle", std::chrono::minutes(90));
  std::string problem;
  REQUIRE(publish_cache_file((folder.path() / "entry").string(), "bytes", problem));
  CHECK(files_below(folder.path()).size() == 4);
  CHECK_FALSE(fs::exists(folder.path() / "old.heddle.1-2.tmp"));
  CHECK_FALSE(fs::exists(folder.path() / "old.heddle.lock"));
}
