// Names for cached code: a hash over everything that decides what the code is.
#pragma once

#include <compare>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace heddle::runtime {

// 128 bits of XXH3.
struct Key {
  uint64_t hi = 0, lo = 0;
  std::string hex() const;  // 32 digits
  friend auto operator<=>(const Key&, const Key&) = default;
};

// One thing that decides what the code is, such as {"target", "sm_90a"}.
struct KeyInput {
  std::string_view name, value;
};

// All inputs as one readable text, in the order given. Lengths precede values, so different lists never give
// the same text. The text is kept beside the code and compared on every hit.
std::string key_text(std::initializer_list<KeyInput> inputs);

Key key_of(std::string_view key_text);

// The same hash under another seed, for checksums: a key that is right by luck of a damaged file proves
// nothing.
Key checksum_of(std::string_view first, std::string_view second);

}  // namespace heddle::runtime
