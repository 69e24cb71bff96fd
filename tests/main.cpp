// Entry of the test program; the tests are in the *_test.cpp files.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

// The sanitizers read their options from functions of these names; without a sanitizer nobody calls them.
// allocator_may_return_null: tests ask for absurd amounts of memory, and expect to be refused.
// allow_user_poisoning: LLVM's inline allocators poison memory only where they were compiled into our files,
// and the precompiled LLVM does not clear what we poisoned.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:allow_user_poisoning=0:detect_stack_use_after_return=1";
}
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1:halt_on_error=1";
}
extern "C" const char* __ubsan_default_options() {
  return "print_stacktrace=1";
}
