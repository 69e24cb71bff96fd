// A user's shared library over libheddle.so, loaded by load.cpp beside other copies of LLVM.
#include <cstring>

#include "codegen/ir/error.h"
#include "codegen/ir/schedule.h"

// 0 if the library works: here, if its exception arrives with its text.
extern "C" __attribute__((visibility("default"))) int heddle_plugin_run() {
  try {
    heddle::parse_schedule("abacus{7}");
  } catch (const heddle::Error& error) {
    return std::strstr(error.what(), "abacus") ? 0 : 1;
  }
  return 2;
}
