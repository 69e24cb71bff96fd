// Runs another program, such as an assembler, and waits for it: no shell, nothing inherited but the
// environment and the working folder, a limit of time.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace heddle::runtime {

struct ProgramRun {
  std::string problem{};  // "ended by signal 11 (Segmentation fault)"; empty if it exited with status 0
  std::string output{};   // what it wrote to stdout and stderr, at most kOutputLimit bytes
};

inline constexpr size_t kOutputLimit = size_t(1) << 20;

// `command`: the program's path, which is not searched for, and its arguments. Where the limit is reached,
// the program and what it started in its process group are killed.
ProgramRun run_program(const std::vector<std::string>& command, std::chrono::milliseconds limit);

}  // namespace heddle::runtime
