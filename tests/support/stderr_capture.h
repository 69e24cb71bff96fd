// What is written to stderr meanwhile.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>

#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace heddle::test {

template <class Run>
std::string stderr_of(Run&& run) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "stderr";
  std::fflush(stderr);
  const int kept = dup(STDERR_FILENO);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  dup2(fileno(file), STDERR_FILENO);
  run();
  std::fflush(stderr);
  dup2(kept, STDERR_FILENO);
  std::fclose(file);
  close(kept);
  return read_file(path);
}

}  // namespace heddle::test
