// What the run time has to say besides results and errors: one line a message, to stderr unless a sink is
// set. HEDDLE_LOG = off, warning (the default), info or debug.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>

namespace heddle::runtime {

enum class LogLevel : uint8_t { off, warning, info, debug };

// Receives each message that the level lets through, without a line end. Called with no lock held, from any
// thread, so it may use the library itself.
using LogSink = std::function<void(LogLevel, const std::string&)>;

// Replaces the sink (an empty one means stderr) and returns the one before.
LogSink set_log_sink(LogSink sink);

LogLevel log_level();
void set_log_level(LogLevel level);

void log_message(LogLevel level, const std::string& message);

// Formats only what will be shown.
template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level <= log_level()) log_message(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace heddle::runtime
