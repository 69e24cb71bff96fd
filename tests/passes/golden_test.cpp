// tests/golden/*.hir: what each pass makes of a program, line by line; and that the runner of these can fail.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "tests/support/files.h"
#include "tests/support/golden.h"

namespace heddle::test {

TEST_CASE("every golden program comes out as its CHECK lines say") {
  int count = 0;
  for (const auto& path : files_below(std::filesystem::path(HEDDLE_SOURCE_DIR) / "tests/golden")) {
    CAPTURE(path.filename().string());
    CHECK(path.extension() == ".hir");
    CHECK(golden_complaint(read_file(path)) == "");
    ++count;
  }
  CHECK(count >= 20);
}

namespace {

// A golden test with these directives, over a program that stores 1 + 2 and then 5.
std::string complaint(const std::string& directives) {
  return golden_complaint(directives + R"(
kernel @k(%0: ptr<i32>) {
  %1 = constant 1 : i32
  %2 = constant 2 : i32
  %3 = add %1, %2
  store %0, %3
  %4 = constant 5 : i32
  store %0, %4
}
)");
}

bool mentions(const std::string& message, const char* words) {
  return message.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the runner of golden tests passes what holds") {
  CHECK(complaint("// RUN: canonicalise\n// CHECK: constant 3\n// CHECK-NEXT: store %0, %1\n") == "");
  CHECK(complaint("// A remark: of no account.\n// RUN: canonicalise\n// CHECK-NOT: add\n") == "");
  CHECK(
      complaint("// RUN: canonicalise\n// CHECK: constant {{[0-9]}} : i{{8|32}}\n// CHECK:  store   %0,\n") ==
      "");
}

TEST_CASE("the runner of golden tests refuses what does not hold, or says nothing") {
  CHECK(mentions(complaint("// RUN: canonicalise\n"), "no CHECK line"));
  CHECK(mentions(complaint("// CHECK: store\n"), "no RUN line"));
  CHECK(mentions(complaint(""), "no RUN line"));
  CHECK(mentions(complaint("// RUN: canonicalise\n// CHECK: add\n"), "line 2: 'add' is not there"));
  CHECK(mentions(complaint("// RUN: order_by_use\n// CHECK: add\n// CHECK: constant 1\n"), "is not there"));
  CHECK(mentions(complaint("// RUN: canonicalise\n// CHECK: constant 3\n// CHECK-NEXT: constant 5\n"),
                 "line 3: 'constant 5' is not on the next line"));
  CHECK(mentions(complaint("// RUN: canonicalise\n// CHECK: constant 5\n// CHECK-NEXT: }\n"), "next line"));
  CHECK(mentions(complaint("// RUN: order_by_use\n// CHECK-NOT: add\n// CHECK: constant 5\n"),
                 "line 2: 'add' is there and should not be"));
  CHECK(mentions(complaint("// RUN: order_by_use\n// CHECK: constant 2\n// CHECK-NOT: add\n"),
                 "should not be"));
  CHECK(mentions(complaint("// RUN: canonicalise\n// CHECK: stor\n"), "is not there"));  // no whole word
  CHECK(mentions(complaint("// RUN: canonicalise\n// EXPECT: store\n"), "no CHECK line"));
  CHECK(mentions(complaint("// RUN: canonicalise\n// CHECK-SAME: store\n"), "no directive"));
  CHECK(mentions(complaint("// RUN: canonicalise\n// CHECK:\n"), "of nothing"));
  CHECK(mentions(complaint("// RUN: tidy_up\n// CHECK: store\n"), "there is no pass 'tidy_up'"));
  CHECK(mentions(complaint("// RUN: canonicalise\n// RUN: canonicalise\n// CHECK: store\n"), "second RUN"));
  CHECK(mentions(golden_complaint("// RUN: canonicalise\n// CHECK: kernel\nkernel @k( {}\n"), "error: "));
}

}  // namespace heddle::test
