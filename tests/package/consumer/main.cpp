// The least a user's program can do: call into the library and catch what it throws.
#include <heddle/codegen/ir/error.h>
#include <heddle/codegen/ir/schedule.h>

#include <cstdio>
#include <cstring>

int main() {
  try {
    heddle::parse_schedule("abacus{7}");
  } catch (const heddle::Error& error) {
    std::printf("%s\n", error.what());
    return std::strstr(error.what(), "abacus") ? 0 : 1;
  }
  return 1;
}
