// Golden tests: a program, the passes to run on it, and lines expected in what comes out, in one text.
//
//   // RUN: promote_variables | lower_schedule work=persistent | canonicalise
//   // CHECK: for_loop %2, %5, %3
//   // CHECK-NEXT: ^(%6: i64)
//   // CHECK-NOT: tile_id
//   kernel @k(...) { ... }
//
// CHECK: a later line holds these words; CHECK-NEXT: the very next one does; CHECK-NOT: no line does between
// its neighbours' matches. Runs of blanks count as one; words match whole (%1 is no part of %12); {{...}} is
// a regular expression. A pass that throws ends the run, and the output is "error: " and the message.
#pragma once

#include <string>
#include <string_view>

namespace heddle::test {

// What is wrong, or "" if every expectation holds. A text that expects nothing, runs nothing or has a
// directive that is none is wrong too.
std::string golden_complaint(std::string_view text);

}  // namespace heddle::test
