// The one exception type that Heddle throws. Light enough for the public headers: no std::string in sight.
#pragma once

#include <cstdint>
#include <exception>

#include "codegen/ir/export.h"
#include "codegen/ir/location.h"

namespace heddle {

// What went wrong, by who can mend it.
enum class ErrorKind : uint8_t {
  trace,        // the kernel's body breaks a rule of the language
  schedule,     // the schedule can't be honoured: a hardware rule, a number, a missing combine, a contract
  launch,       // the arguments of a call: null, negative, mismatched
  parse,        // text given to a parser: IR, schedule, JSON
  compile,      // the code generator or assembler refused
  cache,        // the cache was told to require a hit and had none, or its folder is unsafe
  unsupported,  // this build, device or driver lacks what was asked for
  internal,     // a bug in Heddle: please report it
};
HEDDLE_API const char* to_string(ErrorKind kind);

// Thrown for every failure. `what()` reads like a compiler's message:
//   kernel.cpp:12: error: dot needs ... \n   12 |     acc += dot(a, b);
// Copying never throws: the text is shared.
class HEDDLE_API Error : public std::exception {
 public:
  Error(ErrorKind kind, Location where, const char* message);
  Error(const Error& other) noexcept;
  Error& operator=(const Error& other) noexcept;
  ~Error() override;

  ErrorKind kind() const noexcept;
  Location where() const noexcept;       // the user's line, if one is to blame
  const char* message() const noexcept;  // the sentence alone
  const char* what()
      const noexcept override;  // location, kind, sentence, the quoted source line when it can be read

 private:
  struct Text;
  Text* text_;
};

}  // namespace heddle
