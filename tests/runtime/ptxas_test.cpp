// ptxas as a program: which one is found, what it is asked, and all the ways in which it may fail.
#include "runtime/cuda/ptxas.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "runtime/cuda/assembly_report.h"
#include "tests/support/fake_ptxas.h"
#include "tests/support/ptx.h"
#include "tests/support/temporary_folder.h"

using namespace heddle::test;
using namespace heddle::runtime::cuda;
namespace fs = std::filesystem;

namespace {

const std::string kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry store_five(.param .u64 where) {
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [where];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], 5;
  ret;
}
)";

PtxasSearch find(const std::map<std::string, std::string>& environment) {
  return find_ptxas([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

// TMPDIR is `folder` while it lives, so that what is left behind can be seen.
class TemporaryFiles {
 public:
  explicit TemporaryFiles(const fs::path& folder) : folder_(folder) {
    if (const char* text = std::getenv("TMPDIR")) before_ = text;
    fs::create_directories(folder);
    ::setenv("TMPDIR", folder.c_str(), 1);
  }
  ~TemporaryFiles() { before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1); }
  bool empty() const { return fs::is_empty(folder_); }

 private:
  fs::path folder_;
  std::string before_;
};

}  // namespace

TEST_CASE("the first ptxas that can be executed, in the documented order") {
  const TemporaryFolder folder;
  const auto make = [&](const char* place) {
    write_fake_ptxas(folder.path() / place / "ptxas", "12.9.86", "");
    return (folder.path() / place).string();
  };
  const std::string first = make("first"), second = make("second"), home = folder.path() / "home",
                    cuda_path = folder.path() / "cuda";
  make("home/bin"), make("cuda/bin");
  write_file(folder.path() / "plain" / "ptxas", "");  // not executable
  fs::create_directories(folder.path() / "directory" / "ptxas");
  const std::string path = (folder.path() / "plain").string() + ":" + (folder.path() / "directory").string() +
                           "::.:" + first + ":" + second;
  PtxasSearch found = find({{"PATH", path}, {"CUDA_HOME", home}, {"CUDA_PATH", cuda_path}});
  CHECK(found.path == first + "/ptxas");
  CHECK(found.found_by == "PATH");
  CHECK_FALSE(found.named);
  found = find({{"PATH", "/nowhere"}, {"CUDA_HOME", home}, {"CUDA_PATH", cuda_path}});
  CHECK(found.path == home + "/bin/ptxas");
  CHECK(found.found_by == "CUDA_HOME");
  CHECK(find({{"CUDA_HOME", ""}, {"CUDA_PATH", cuda_path}}).path == cuda_path + "/bin/ptxas");
  // Whatever is named is taken, and nothing else is looked for.
  found = find({{"HEDDLE_PTXAS", "/no/such"}, {"PATH", path}});
  CHECK(found.path == "/no/such");
  CHECK(found.named);
  found = find({{"HEDDLE_PTXAS", "driver"}, {"PATH", path}});
  CHECK(found.path == "");
  CHECK(found.named);
  CHECK(find({{"HEDDLE_PTXAS", ""}, {"PATH", path}}).path == first + "/ptxas");  // empty counts as unset
  // What a working folder holds is not run.
  const fs::path before = fs::current_path();
  fs::current_path(first);
  CHECK(find({{"PATH", ":.:"}}).path != "./ptxas");
  CHECK(find({{"PATH", ":.:"}}).found_by != "PATH");
  fs::current_path(before);
}

TEST_CASE("its version is asked for once, until its file changes") {
  const TemporaryFolder folder;
  const std::string path = write_fake_ptxas(folder.path() / "ptxas", "12.9.86", "");
  for (int i = 0; i < 3; ++i) {
    const PtxasVersion version = ptxas_version(path);
    CHECK(version.problem == "");
    CHECK(version.text == "12.9.86");
    CHECK(version.release == 12090);
  }
  CHECK(read_file(path + ".calls") == "--version\n");
  fs::remove(path);
  write_fake_ptxas(path, "13.1.4", "");
  CHECK(ptxas_version(path).release == 13010);
  write_script(path, "echo what");
  CHECK(ptxas_version(path).problem == "does not tell its version");
  write_script(path, "exit 9 # and no version");
  CHECK(ptxas_version(path).problem == "ended with status 9 when asked for its version");
  write_file(path, "no program");  // executable, of no format
  CHECK(ptxas_version(path).problem == "can't be started (Exec format error) when asked for its version");
  fs::permissions(path, fs::perms::owner_read);
  CHECK(ptxas_version(path).problem == "can't be started (Permission denied) when asked for its version");
  CHECK(ptxas_version(folder.path() / "none").problem == "can't be found (No such file or directory)");
}

TEST_CASE("it gets the text as it is, without a zero, and its answer comes back") {
  const TemporaryFolder folder;
  const TemporaryFiles files(folder.path() / "tmp");
  const std::string script = write_fake_ptxas(folder.path() / "with space" / "ptxas", "12.9.86",
                                              "cp \"$5\" '" + (folder.path() / "given").string() +
                                                  "'; ls -ld \"$(dirname \"$5\")\" | cut -c1-10; printf "
                                                  "'\\177ELF and more\\000zero' >\"$4\"");
  const PtxasRun run = run_ptxas(script, kPtx, "sm_90");
  CHECK(run.problem == "");
  CHECK(run.cubin == std::string("\177ELF and more\0zero", 18));
  CHECK(run.log == "drwx------\n");  // nobody else looks in
  CHECK(read_file(folder.path() / "given") == kPtx);
  CHECK(files.empty());
}

TEST_CASE("whatever goes wrong is told, and no file is left behind") {
  const TemporaryFolder folder;
  const TemporaryFiles files(folder.path() / "tmp");
  const std::string path = folder.path() / "ptxas";
  struct Row {
    std::string acts, problem, log;
  };
  const Row rows[] = {
      {fake_ptxas::kCrashes, "ended by signal 11 (Segmentation fault)", ""},
      {fake_ptxas::kHangs, "did not end within 0.3 s", ""},
      {fake_ptxas::kRefuses, "ended with status 255",
       "ptxas kernel.ptx, line 9; error : Not a name of any known instruction: 'x'\n"},
      {fake_ptxas::kWritesNothing, "ended well, but made no cubin", "fine\n"},
      {fake_ptxas::kWritesGarbage, "ended well, but made no cubin", "%s%n \\033[31m garbage\n"},
      {"mkdir \"$4\"; touch \"$4/x\"", "ended well, but made no cubin", ""},
      {": >\"$4\"", "ended well, but made no cubin", ""},
  };
  for (const Row& row : rows) {
    INFO(row.acts);
    write_fake_ptxas(path, "12.9.86", row.acts);
    const bool hangs = row.acts == fake_ptxas::kHangs;
    const PtxasRun run = run_ptxas(path, kPtx, "sm_90", hangs ? std::chrono::milliseconds(300) : kPtxasLimit);
    CHECK(run.problem == row.problem);
    CHECK(run.log == row.log);
    CHECK(run.cubin == "");
    CHECK(files.empty());
  }
  fs::remove(path);
  CHECK(run_ptxas(path, kPtx, "sm_90").problem == "can't be started (No such file or directory)");
  CHECK(files.empty());
}

TEST_CASE("without a place for files, that is the problem") {
  const TemporaryFolder folder;
  const TemporaryFiles files(folder.path() / "tmp");
  fs::permissions(folder.path() / "tmp", fs::perms::owner_read | fs::perms::owner_exec);
  if (::access((folder.path() / "tmp").c_str(), W_OK) == 0) return;  // root may write anywhere
  const PtxasRun run = run_ptxas("/bin/true", kPtx, "sm_90");
  CHECK(run.problem.starts_with("has no folder for its files: "));
}

TEST_CASE("the real one assembles, reports and refuses") {
  const std::string path = find_ptxas();
  REQUIRE(path != "");
  const TemporaryFolder folder;
  const TemporaryFiles files(folder.path() / "tmp");
  const PtxasVersion version = ptxas_version(path);
  INFO(version.problem);
  CHECK(version.release >= 12000);
  PtxasRun run = run_ptxas(path, kPtx, "sm_90");
  INFO(run.log);
  CHECK(run.problem == "");
  CHECK(run.cubin.find(".text.store_five") != std::string::npos);
  const AssemblyReport report = read_assembly_report(run.log, "store_five");
  CHECK(report.registers > 0);
  CHECK(report.registers < 64);
  CHECK(report.stack_bytes == 0);
  CHECK(report.spill_store_bytes == 0);
  CHECK(report.spill_load_bytes == 0);
  CHECK(report.shared_bytes == 0);
  CHECK(report.remarks.empty());
  run = run_ptxas(path, "nonsense", "sm_90");
  CHECK(run.problem.starts_with("ended with status "));
  CHECK(run.log.starts_with("ptxas kernel.ptx, line 1; fatal"));
  std::string later = kPtx;
  later.replace(later.find("8.0"), 3, "9.9");
  CHECK(run_ptxas(path, later, "sm_90").log.find("Unsupported .version 9.9") != std::string::npos);
  CHECK(run_ptxas(path, kPtx, "sm_81").log.find("'sm_81' is not defined") != std::string::npos);
  CHECK(files.empty());
}
