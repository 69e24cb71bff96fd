// The single place where errors are born: one breakpoint catches all of them. For .cpp files (uses fmt).
#pragma once

#include <fmt/format.h>

#include "codegen/ir/error.h"

namespace heddle {

[[noreturn]] void raise(ErrorKind kind, Location where, const std::string& message);

// raise() with fmt's formatting.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, Location where, fmt::format_string<Args...> format, Args&&... args) {
  raise(kind, where, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace heddle
