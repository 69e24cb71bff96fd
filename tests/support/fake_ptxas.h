// Scripts in the place of ptxas.
#pragma once

#include <filesystem>
#include <string>

#include "tests/support/files.h"

namespace heddle::test {

// How an assembler acts when it is called as `ptxas -v -arch=sm_90 -o <cubin> <PTX>`.
namespace fake_ptxas {
inline const std::string kCrashes = "kill -SEGV $$";
inline const std::string kHangs = "sleep 1000";
inline const std::string kRefuses =
    "echo \"ptxas $5, line 9; error : Not a name of any known instruction: 'x'\" >&2; exit 255";
inline const std::string kTooOld =
    "echo \"ptxas $5, line 6; fatal : Unsupported .version 8.0; current version is '7.8'\" >&2; exit 255";
inline const std::string kKnowsNoSuchGpu =
    "echo \"ptxas fatal   : Value 'sm_90' is not defined for option 'gpu-name'\" >&2; exit 255";
inline const std::string kWritesNothing = "echo fine";
inline const std::string kWritesGarbage = "echo garbage >$4; printf '%s\\n' '%s%n \\033[31m garbage'";
inline const std::string kMakesWhatDoesNotLoad = "printf '\\177ELF%0100d' 0 >\"$4\"";
// The fake driver's kind of cubin (tests/fake_cuda/driver.cpp), and a report with spills.
inline const std::string kAssembles = R"sh(size=$(wc -c <"$5")
{
  printf '\177ELFFAKE!'
  for shift in 0 8 16 24 32 40 48 56; do printf "\\$(printf %o $((size >> shift & 255)))"; done
  cat "$5"
} >"$4"
entry=$(sed -n 's/.*\.entry \([a-z_]*\).*/\1/p' "$5")
cat >&2 <<END
ptxas info    : Compiling entry function '$entry' for 'sm_90'
ptxas info    : Function properties for $entry
    48 bytes stack frame, 40 bytes spill stores, 44 bytes spill loads
ptxas info    : Used 64 registers, used 0 barriers
ptxas info    : (C7511) Potential Performance Loss: something is serialized
END
)sh";
}  // namespace fake_ptxas

// An executable script at `path`.
inline std::string write_script(const std::filesystem::path& path, const std::string& body) {
  namespace fs = std::filesystem;
  write_file(path, "#!/bin/sh\n" + body + "\n");
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

// A ptxas of this version, which notes its calls as lines in <path>.calls.
inline std::string write_fake_ptxas(const std::filesystem::path& path, const std::string& version,
                                    const std::string& assembling) {
  return write_script(path, "echo \"$*\" >>'" + path.string() + ".calls'\n" +
                                "if [ \"$1\" = --version ]; then\n  echo 'Cuda compilation tools, release " +
                                version.substr(0, version.rfind('.')) + ", V" + version + "'\n  exit\nfi\n" +
                                assembling);
}

}  // namespace heddle::test
