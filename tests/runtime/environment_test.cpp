// What is said of environment variables with values that make no sense: this program starts itself again, as
// the helper case below.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "dsl/heddle.h"
#include "runtime/log.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace heddle;

template <int N>
const Kernel times{"times", [](View<f32, 1> x) {
                     auto [i] = tile_id<16>(x);
                     store(x, {i}, load<16>(x, {i}) * float(N));
                   }};

template <int N>
bool multiplies() {
  Stream stream(Device::cpu());
  float numbers[20] = {1};
  times<N>(stream, TensorRef<float, 1>(numbers, {20}));
  return numbers[0] == float(N);
}

// What a process with these variables writes to stderr while it makes two streams and runs a kernel twice,
// or does what another helper does; with its exit status where that is not 0.
std::string said(const std::string& variables, const std::string& helper = "environment") {
  const std::string command = "timeout 60 env " + variables + " '" +
                              std::filesystem::read_symlink("/proc/self/exe").string() +
                              "' --no-skip --test-case='helper: " + helper + "' 2>&1 >/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string text;
  std::array<char, 512> part;
  while (std::fgets(part.data(), int(part.size()), pipe)) text += part.data();
  const int status = pclose(pipe);
  return status == 0 ? text : text + "status " + std::to_string(status);
}

}  // namespace

TEST_CASE("helper: environment" * doctest::skip()) {
  for (int i = 0; i < 2; ++i) CHECK(multiplies<2>());
}

TEST_CASE("helper: a sink that launches" * doctest::skip()) {
  // Each message launches another kernel: one that is being made can't be launched by its own maker.
  int launches = 0;
  runtime::set_log_sink([&](runtime::LogLevel, const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    const bool first = launches++ == 0;
    CHECK((first ? multiplies<3>() : multiplies<4>()));
  });
  CHECK(multiplies<2>());
  CHECK(launches == 2);
  runtime::set_log_sink({});
}

TEST_CASE("what is said of the environment may make a log sink launch") {
  const std::string text = said("HEDDLE_NONSENSE=1 HEDDLE_CACHE_DIR=/proc/nowhere", "a sink that launches");
  INFO(text);
  CHECK(text.find("nothing reads HEDDLE_NONSENSE") == 0);
  CHECK(text.find("/proc/nowhere can't be used (") != std::string::npos);
  CHECK(text.find("status") == std::string::npos);
}

TEST_CASE("good and empty values are taken without a word") {
  const test::TemporaryFolder folder;
  const std::string cache = "HEDDLE_CACHE_DIR='" + folder.path().string() + "' ";
  CHECK(said(cache + "HEDDLE_LOG=warning HEDDLE_NUM_THREADS=2 HEDDLE_DUMP=tile HEDDLE_DUMP_DIR='" +
             folder.path().string() + "'") == "");
  CHECK(said(cache + "HEDDLE_LOG= HEDDLE_NUM_THREADS= HEDDLE_DUMP= HEDDLE_DUMP_DIR=") == "");
  CHECK(said("XDG_CACHE_HOME='" + folder.path().string() + "' HEDDLE_CACHE_DIR=") == "");
  CHECK(std::filesystem::exists(folder.path() / "heddle"));
}

TEST_CASE("values that make no sense cost one warning each, and the program runs") {
  const test::TemporaryFolder folder;
  const std::string cache = "HEDDLE_CACHE_DIR='" + folder.path().string() + "' ";
  CHECK(said(cache + "HEDDLE_LOG=zzz") ==
        "heddle: warning: HEDDLE_LOG is 'zzz', but takes off, warning, info or debug; it stays at warning\n");
  for (const char* number : {"abc", "0", "-1", "1e9", "1025", "4x", "99999999999999999999"}) {
    const std::string text = said(cache + "HEDDLE_NUM_THREADS=" + number);
    INFO(text);
    CHECK(text.find("heddle: warning: HEDDLE_NUM_THREADS is '" + std::string(number) +
                    "', but takes a number from 1 to 1024; ") == 0);
    CHECK(text.find("one thread a core") != std::string::npos);
    CHECK(text.find('\n') == text.size() - 1);
  }
  CHECK(said(cache + "HEDDLE_DUMP=xyz") ==
        "heddle: warning: HEDDLE_DUMP knows no stage 'xyz'; it knows tile, canonical, scheduled, machine, "
        "llvm, "
        "asm, ptx\n");
  CHECK(said(cache + "HEDDLE_DUMP=tile HEDDLE_DUMP_DIR=/proc/nowhere")
            .find("heddle: warning: HEDDLE_DUMP_DIR=") == 0);
  CHECK(said(cache + "HEDDLE_CACHEDIR=/tmp HEDDLE_THREADS=3")
            .find("heddle: warning: nothing reads HEDDLE_CACHEDIR, HEDDLE_THREADS; the variables are "
                  "HEDDLE_CACHE_DIR, ") == 0);
  // Silence that was asked for.
  CHECK(said(cache + "HEDDLE_LOG=off HEDDLE_NUM_THREADS=abc HEDDLE_THREADS=3") == "");
}

TEST_CASE("HEDDLE_LOG=info tells of each kernel that is made, debug of its steps too") {
  const test::TemporaryFolder folder;
  const std::string cache = "HEDDLE_CACHE_DIR='" + folder.path().string() + "' ";
  for (const char* result : {"miss", "hit"}) {
    const std::string text = said(cache + "HEDDLE_LOG=info");
    INFO(text);
    CHECK(text.starts_with("heddle: info: kernel 'times' for "));
    CHECK(text.find(std::string("; cache ") + result + ", ready in ") != std::string::npos);
    CHECK(text.find(" ms, " + folder.path().string() + "/") != std::string::npos);
    CHECK(text.find('\n') == text.size() - 1);  // launched twice, made once
  }
  const std::string text = said(cache + "HEDDLE_LOG=debug");
  INFO(text);
  CHECK(text.find("\nheddle: debug: kernel 'times': ") != std::string::npos);
  CHECK(text.find(" ms to object code, ") != std::string::npos);
}

TEST_CASE("cache folders that can't be used are named with the reason") {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "file").string();
  test::write_file(file, "");
  struct Row {
    std::string directory, reason;
  };
  for (const Row& row :
       {Row{"/", "/ can't be used (it is the root folder)"}, Row{"///", "it is the root folder"},
        Row{file, file + " can't be used (it is no folder)"},
        Row{file + "/below", "can't be used (Not a directory)"},
        Row{"/proc/nowhere", "/proc/nowhere can't be used ("}}) {
    const std::string text = said("HEDDLE_CACHE_DIR='" + row.directory + "'");
    INFO(row.directory, ": ", text);
    CHECK(text.find("heddle: warning: the kernel cache ") == 0);
    CHECK(text.find(row.reason) != std::string::npos);
    CHECK(text.find("kept in memory only; set HEDDLE_CACHE_DIR to a folder of your own\n") !=
          std::string::npos);
    CHECK(text.find('\n') == text.size() - 1);
  }
}
