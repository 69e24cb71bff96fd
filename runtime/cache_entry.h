// A cache entry and its form as one file. Knows bytes; knows neither folders nor what the sections mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache_key.h"

namespace heddle::runtime {

// Named blobs that belong together, such as "object" and "metadata".
struct Entry {
  struct Section {
    std::string name, data;
    friend bool operator==(const Section&, const Section&) = default;
  };
  std::vector<Section> sections;

  const std::string* find(std::string_view name) const;  // null if there is none
  friend bool operator==(const Entry&, const Entry&) = default;
};

// The file's bytes. `key_text` is stored whole: a hit is never a matter of the hash alone, and a person can
// read what an entry was made from.
std::string encode_entry(std::string_view key_text, const Entry& entry);

// Reads what encode_entry wrote for this key. Any other bytes, of whatever length, give false and the reason.
bool decode_entry(std::string_view file, std::string_view key_text, Entry& entry, std::string& reason);

}  // namespace heddle::runtime
