// Collects what the library logs while it lives.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/log.h"

namespace heddle::test {

class LogCapture {
 public:
  explicit LogCapture(runtime::LogLevel level = runtime::LogLevel::warning)
      : level_before_(runtime::log_level()),
        sink_before_(runtime::set_log_sink([this](runtime::LogLevel, const std::string& message) {
          const std::lock_guard lock(mutex_);
          messages_.push_back(message);
        })) {
    runtime::set_log_level(level);
  }
  LogCapture(const LogCapture&) = delete;
  ~LogCapture() {
    runtime::set_log_level(level_before_);
    runtime::set_log_sink(sink_before_);
  }

  std::vector<std::string> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
  runtime::LogLevel level_before_;
  runtime::LogSink sink_before_;
};

}  // namespace heddle::test
