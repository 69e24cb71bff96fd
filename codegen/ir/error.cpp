// Error's text: built once when thrown, shared by copies.
#include "codegen/ir/error.h"

#include <atomic>
#include <fstream>
#include <string>

#include "codegen/ir/fail.h"

namespace heddle {

struct Error::Text {
  std::atomic<int> references{1};
  ErrorKind kind;
  Location where;
  std::string message;
  std::string full;
};

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::trace: return "trace";
    case ErrorKind::schedule: return "schedule";
    case ErrorKind::launch: return "launch";
    case ErrorKind::parse: return "parse";
    case ErrorKind::compile: return "compile";
    case ErrorKind::cache: return "cache";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::internal: return "internal";
  }
  return "unknown";
}

namespace {

// The user's line as the file on disk has it now; empty where the file can't be read.
std::string source_line(Location where) {
  std::ifstream file(where.file);
  std::string line;
  for (uint32_t i = 0; i < where.line; ++i)
    if (!std::getline(file, line)) return {};
  return line;
}

std::string render(ErrorKind kind, Location where, const std::string& message) {
  std::string out;
  if (where.known()) out += fmt::format("{}:{}: ", where.file, where.line);
  out += fmt::format("{}: {}", kind == ErrorKind::internal ? "internal error" : "error", message);
  if (where.known())
    if (std::string line = source_line(where); !line.empty())
      out += fmt::format("\n{:5} | {}", where.line, line);
  return out;
}

}  // namespace

Error::Error(ErrorKind kind, Location where, const char* message)
    : text_(
          new Text{.kind = kind, .where = where, .message = message, .full = render(kind, where, message)}) {}

Error::Error(const Error& other) noexcept : std::exception(other), text_(other.text_) {
  ++text_->references;
}

Error& Error::operator=(const Error& other) noexcept {
  ++other.text_->references;
  if (--text_->references == 0) delete text_;
  text_ = other.text_;
  return *this;
}

Error::~Error() {
  if (--text_->references == 0) delete text_;
}

ErrorKind Error::kind() const noexcept {
  return text_->kind;
}
Location Error::where() const noexcept {
  return text_->where;
}
const char* Error::message() const noexcept {
  return text_->message.c_str();
}
const char* Error::what() const noexcept {
  return text_->full.c_str();
}

void raise(ErrorKind kind, Location where, const std::string& message) {
  throw Error(kind, where, message.c_str());
}

}  // namespace heddle
