// Where in the user's source an operation was written. Carried by every op and printed in every error.
#pragma once

#include <cstdint>
#include <source_location>

namespace heddle {

struct Location {
  const char* file = nullptr;  // as the compiler was given it; static storage, or interned by the IR parser
  uint32_t line = 0;           // 1-based; 0 = unknown

  constexpr Location() = default;
  constexpr Location(const char* file, uint32_t line) : file(file), line(line) {}
  // Implicit, so that a parameter `Location loc = std::source_location::current()` names the caller's line.
  constexpr Location(const std::source_location& where) : file(where.file_name()), line(where.line()) {}

  constexpr bool known() const { return file != nullptr; }
};

}  // namespace heddle
