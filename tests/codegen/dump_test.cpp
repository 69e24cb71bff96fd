// HEDDLE_DUMP: each stage's text, where it is asked for; IR that reads back; unknown names are told the
// known.
#include "codegen/dump.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "codegen/compile.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "tests/support/files.h"
#include "tests/support/stderr_capture.h"
#include "tests/support/temporary_folder.h"

namespace heddle::codegen {
namespace {

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  Environment(const Environment&) = delete;
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

constexpr const char* kKernel = R"(kernel @"two words"(%0: view<f32, 1>) dims(d0 = 8) {
  %1 = view_extent %0 {axis = 0} : i64
  %2 = tile_id %1 {d0} : i64
  %3 = load_view %0, %2 {fill = 0} : tile<f32, d0>
  %4 = variable %3 : var<f32, d0>
  %5 = read_variable %4 : tile<f32, d0>
  %6 = exp %5 : tile<f32, d0>
  write_variable %4, %6
  %7 = read_variable %4 : tile<f32, d0>
  store_view %0, %7, %2
}
)";

// Takes the kernel from its trace to scheduled IR, and returns the latter's text.
std::string make_kernel() {
  const auto traced = TracedKernel::analyse(ir::parse(kKernel));
  return ir::print(*lower(*traced, {}, Target::cpu, {}));
}

// The files in `folder`, by the part of the name behind the key.
std::map<std::string, std::string> dumped(const std::filesystem::path& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& path : test::files_below(folder)) {
    const std::string name = path.filename().string();
    CHECK(name.starts_with("two_words-"));
    CHECK(texts.emplace(name.substr(name.find('.') + 1), test::read_file(path)).second);
  }
  return texts;
}

}  // namespace

TEST_CASE("every stage is written to HEDDLE_DUMP_DIR, and its IR reads back") {
  const test::TemporaryFolder folder;
  std::string scheduled;
  {
    const Environment stages("HEDDLE_DUMP", "tile, canonical,scheduled,llvm,asm");
    const Environment place("HEDDLE_DUMP_DIR", (folder.path() / "made" / "here").string());
    scheduled = make_kernel();
  }
  const auto texts = dumped(folder.path());
  REQUIRE(texts.size() == 5);
  CHECK(texts.at("tile.hir") == kKernel);
  CHECK(texts.at("scheduled.hir") == scheduled);
  for (const char* stage : {"tile.hir", "canonical.hir", "scheduled.hir"})
    CHECK(ir::print(*ir::parse(texts.at(stage))) == texts.at(stage));
  CHECK(texts.at("canonical.hir").find("variable") == std::string::npos);
  CHECK(texts.at("canonical.hir").find("tile_id") != std::string::npos);
  CHECK(texts.at("llvm.ll").find("define ") != std::string::npos);
  CHECK(texts.at("asm.s").find(".text") != std::string::npos);
}

TEST_CASE("a probe is not shown") {
  const test::TemporaryFolder folder;
  const Environment stages("HEDDLE_DUMP", "tile,canonical");
  const Environment place("HEDDLE_DUMP_DIR", folder.path().string());
  TracedKernel::analyse(ir::parse(kKernel), /*probe=*/true);
  CHECK(dumped(folder.path()).empty());
}

TEST_CASE("stages that are not asked for are not written") {
  const test::TemporaryFolder folder;
  const Environment place("HEDDLE_DUMP_DIR", folder.path().string());
  make_kernel();
  CHECK(dumped(folder.path()).empty());
  const Environment stages("HEDDLE_DUMP", "scheduled");
  make_kernel();
  const auto texts = dumped(folder.path());
  CHECK(texts.size() == 1);
  CHECK(texts.count("scheduled.hir") == 1);
}

TEST_CASE("without a folder the text goes to stderr, under a line that names it") {
  const Environment stages("HEDDLE_DUMP", "tile");
  const std::string said = test::stderr_of([] { make_kernel(); });
  CHECK(said.starts_with("==== two_words-"));
  CHECK(said.find(".tile.hir\n" + std::string(kKernel)) != std::string::npos);
  CHECK(said.find("canonical") == std::string::npos);
}

TEST_CASE("an unknown stage is warned of once, with the known ones, and the others still count") {
  const Environment stages("HEDDLE_DUMP", "ptx9,canonical");
  const std::string said = test::stderr_of([] { make_kernel(); });
  CHECK(said.find("warning: HEDDLE_DUMP knows no stage 'ptx9'; it knows tile, canonical, scheduled, machine, "
                  "llvm, asm, ptx") != std::string::npos);
  CHECK(said.find(".canonical.hir\n") != std::string::npos);
  CHECK(test::stderr_of([] { make_kernel(); }).find("warning") == std::string::npos);
}

TEST_CASE("a folder that can't be written costs a warning, not the kernel") {
  const Environment stages("HEDDLE_DUMP", "scheduled");
  const Environment place("HEDDLE_DUMP_DIR", "/dev/null/folder");
  std::string text;
  const std::string said = test::stderr_of([&] { text = make_kernel(); });
  CHECK(said.find("warning: HEDDLE_DUMP_DIR=/dev/null/folder: ") != std::string::npos);
  CHECK(text.find("kernel @") != std::string::npos);
}

}  // namespace heddle::codegen
