// Which assembler is taken, and the words for it.
#include <doctest/doctest.h>

#include "runtime/cuda/assemble.h"

using namespace heddle::runtime::cuda;

namespace {

constexpr int kDriver = 12040;
const PtxasSearch kNone, kFound{.path = "/opt/bin/ptxas", .found_by = "PATH"},
    kNamed{.path = "/mine/ptxas", .found_by = "HEDDLE_PTXAS", .named = true},
    kWantsDriver{.found_by = "HEDDLE_PTXAS", .named = true};

PtxasVersion version(int major, int minor) {
  return {.release = 1000 * major + 10 * minor,
          .text = std::to_string(major) + "." + std::to_string(minor) + ".1"};
}

// The names in order, with the reason.
std::string chosen(const PtxasSearch& search, const PtxasVersion& ptxas) {
  std::string text;
  const AssemblerChoice choice = choose_assembler(search, ptxas, kDriver);
  for (const Assembler& assembler : choice.order) {
    CHECK(assembler.path == (assembler.name.starts_with("ptxas") ? search.path : ""));
    text += assembler.name + ", ";
  }
  return text + "because " + choice.why;
}

}  // namespace

TEST_CASE("the newer one of the driver's assembler and a ptxas that was found") {
  CHECK(chosen(kFound, version(12, 6)) ==
        "ptxas 12.6.1, driver 12.4, because ptxas 12.6.1, /opt/bin/ptxas, found by PATH, is newer than the "
        "driver's");
  for (const int minor : {4, 3, 0})
    CHECK(chosen(kFound, version(12, minor)) ==
          "driver 12.4, ptxas 12." + std::to_string(minor) + ".1, because ptxas 12." + std::to_string(minor) +
              ".1, /opt/bin/ptxas, found by PATH, is not newer than the driver's");
  CHECK(chosen(kFound, version(11, 8)).starts_with("driver 12.4, ptxas 11.8.1, because"));
}

TEST_CASE("no ptxas whose cubins the driver may not load") {
  for (const PtxasSearch& search : {kFound, kNamed}) {
    const std::string text = chosen(search, version(13, 0));
    CHECK(text.starts_with("driver 12.4, because ptxas 13.0.1, "));
    CHECK(text.ends_with(" makes what drivers of CUDA 13 load"));
  }
}

TEST_CASE("the one that is named, older or newer") {
  for (const int minor : {0, 4, 9})
    CHECK(chosen(kNamed, version(12, minor)) ==
          "ptxas 12." + std::to_string(minor) + ".1, driver 12.4, because ptxas 12." + std::to_string(minor) +
              ".1, /mine/ptxas, named by HEDDLE_PTXAS, is taken");
  CHECK(chosen(kWantsDriver, {}) == "driver 12.4, because HEDDLE_PTXAS asks for the driver's assembler");
}

TEST_CASE("none that can't tell its version") {
  CHECK(chosen(kFound, {.problem = "ended with status 1"}) ==
        "driver 12.4, because /opt/bin/ptxas, found by PATH, ended with status 1");
  CHECK(chosen(kNamed, {.problem = "can't be found"}) ==
        "driver 12.4, because /mine/ptxas, named by HEDDLE_PTXAS, can't be found");
  CHECK(chosen(kNone, {}).starts_with("driver 12.4, because no ptxas is in the folders of PATH"));
}

TEST_CASE("PTX for features of one architecture is assembled for that one") {
  const auto ptx = [](const char* target) {
    return std::string("//\n// Generated\n//\n\n.version 8.0\n.target ") + target + "\n.address_size 64\n";
  };
  CHECK(architecture_of(ptx("sm_80"), 90) == "sm_90");
  CHECK(architecture_of(ptx("sm_90"), 120) == "sm_120");
  CHECK(architecture_of(ptx("sm_90a"), 90) == "sm_90a");
  CHECK(architecture_of(ptx("sm_100f, debug"), 103) == "sm_100f");
}
