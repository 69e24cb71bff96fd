// PTX and cubin between processes: this program starts itself again, as the helper case below.
#include <cstdlib>
#include <filesystem>

#include "tests/fake_cuda/kernels.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

using namespace heddle;
using fake::cuda;
namespace fs = std::filesystem;

namespace {

// What a process that launches one kernel over the cache in `folder` did: "<cubins assembled> <launches>
// <whether the cache had all>".
std::string launch_in_process(const fs::path& folder) {
  const fs::path answer = folder / "answer", program = fs::read_symlink("/proc/self/exe");
  fs::remove(answer);
  const std::string command = "HEDDLE_LOG=off HEDDLE_CACHE_DIR='" + (folder / "cache").string() +
                              "' FAKE_CUDA_ANSWER='" + answer.string() + "' '" + program.string() +
                              "' --no-skip --test-case='helper: launch' >/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  return heddle::test::read_file(answer);
}

}  // namespace

TEST_CASE("helper: launch" * doctest::skip()) {
  const char* answer = std::getenv("FAKE_CUDA_ANSWER");
  if (!answer) return;  // run by hand with --no-skip
  Stream stream(Device::cuda(0));
  fake::add<20>.grid(1)(stream, fake::memory(), fake::memory(), 1);
  heddle::test::write_file(answer, std::to_string(cuda().calls("cuLinkCreate_v2")) + " " +
                                       std::to_string(cuda().launches()) +
                                       (runtime::last_launch().cache_hit ? " hit" : " made"));
}

TEST_CASE("a second process assembles nothing; a damaged entry is made anew") {
  const heddle::test::TemporaryFolder folder;
  CHECK(launch_in_process(folder.path()) == "1 1 made");
  CHECK(launch_in_process(folder.path()) == "0 1 hit");
  int entries = 0, assembled = 0;
  for (const fs::path& file : heddle::test::files_below(folder.path() / "cache")) {
    std::string bytes = heddle::test::read_file(file);
    if (bytes.size() < 200) continue;  // a lock, not an entry
    ++entries;
    bytes[bytes.size() / 2] ^= 0x10;
    heddle::test::write_file(file, bytes);
    const std::string answer = launch_in_process(folder.path());
    CHECK(answer.substr(1) == " 1 made");
    assembled += answer[0] == '1';
    CHECK(launch_in_process(folder.path()) == "0 1 hit");
  }
  CHECK(entries == 2);    // PTX, cubin
  CHECK(assembled == 1);  // the cubin alone; PTX made anew is the same
}
