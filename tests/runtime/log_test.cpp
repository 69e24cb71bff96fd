#include "runtime/log.h"

#include <doctest/doctest.h>

#include "tests/support/log_capture.h"

using namespace heddle::runtime;
using heddle::test::LogCapture;

TEST_CASE("the level decides which messages arrive") {
  for (const LogLevel level : {LogLevel::off, LogLevel::warning, LogLevel::info, LogLevel::debug}) {
    const LogCapture capture(level);
    log(LogLevel::warning, "w");
    log(LogLevel::info, "i");
    log(LogLevel::debug, "{}", "d");
    const std::vector<std::string> all = {"w", "i", "d"};
    CHECK(capture.messages() == std::vector(all.begin(), all.begin() + int(level)));
  }
}

TEST_CASE("a sink may replace itself and log") {
  const LogCapture outer;
  set_log_sink([](LogLevel, const std::string&) {
    set_log_sink([](LogLevel, const std::string&) {});
    log(LogLevel::warning, "to the new sink");
  });
  log(LogLevel::warning, "to the old sink");  // returns: no lock is held in a sink
  CHECK(outer.messages().empty());
}
