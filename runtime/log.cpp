#include "runtime/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>

namespace heddle::runtime {
namespace {

void write_to_stderr(LogLevel level, const std::string& message) {
  const char* word = level == LogLevel::warning ? "warning" : level == LogLevel::info ? "info" : "debug";
  const std::string line = fmt::format("heddle: {}: {}\n", word, message);
  // One write, so that lines of several processes don't mix. A closed stderr is nobody's error.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

LogLevel level_from_environment() {
  const char* text = std::getenv("HEDDLE_LOG");
  const std::string_view word = text ? text : "";
  if (word == "off") return LogLevel::off;
  if (word == "info") return LogLevel::info;
  if (word == "debug") return LogLevel::debug;
  if (!word.empty() && word != "warning")
    write_to_stderr(
        LogLevel::warning,
        fmt::format("HEDDLE_LOG is '{}', but takes off, warning, info or debug; it stays at warning", word));
  return LogLevel::warning;
}

struct State {
  std::atomic<LogLevel> level{level_from_environment()};
  std::mutex mutex;  // guards the pointer, not the call
  std::shared_ptr<const LogSink> sink;
};

// Never destroyed: messages may come from threads that outlive main().
State& state() {
  static State* const state = new State;
  return *state;
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(state().mutex);
  state().sink.swap(next);
  return next ? *next : LogSink();
}

LogLevel log_level() {
  return state().level.load(std::memory_order_relaxed);
}
void set_log_level(LogLevel level) {
  state().level.store(level, std::memory_order_relaxed);
}

void log_message(LogLevel level, const std::string& message) {
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(state().mutex);
    sink = state().sink;
  }
  sink ? (*sink)(level, message) : write_to_stderr(level, message);
}

}  // namespace heddle::runtime
