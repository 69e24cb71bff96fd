// NVIDIA's assembler as a program of its own: where it is, which version, PTX to cubin by it. Must not know
// the driver or the cache.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace heddle::runtime::cuda {

// What the environment says of ptxas.
struct PtxasSearch {
  std::string path{};      // empty: there is none, or none is wanted
  std::string found_by{};  // "HEDDLE_PTXAS", "PATH", ...
  bool named = false;      // by HEDDLE_PTXAS: this one and no other
};
// HEDDLE_PTXAS, where "driver" means none; else the first one that can be executed in the folders of PATH,
// $CUDA_HOME/bin, $CUDA_PATH/bin and /usr/local/cuda/bin. Relative folders of PATH are left out: what a
// working folder holds is not run. `variable` looks up the environment.
PtxasSearch find_ptxas(const std::function<const char*(const char*)>& variable);

struct PtxasVersion {
  int release = 0;        // of CUDA, as the driver counts: 13000 is 13.0
  std::string text{};     // "13.0.88"
  std::string problem{};  // why it has none: "ended with status 1"
};
// Asks the program, once for each state of its file.
PtxasVersion ptxas_version(const std::string& path);

struct PtxasRun {
  std::string cubin{};
  std::string log{};      // what it said: with -v, what the kernel uses
  std::string problem{};  // why there is no cubin: "ended with status 255"
};

// Longer than any kernel takes; other processes wait as long for the one that makes a cache entry.
inline constexpr std::chrono::seconds kPtxasLimit(60);

// Assembles for `architecture`, such as "sm_90", by way of files in a private folder, which is gone
// afterwards.
PtxasRun run_ptxas(const std::string& path, const std::string& ptx, const std::string& architecture,
                   std::chrono::milliseconds limit = kPtxasLimit);

}  // namespace heddle::runtime::cuda
