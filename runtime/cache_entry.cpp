// The file, all numbers little-endian:
//
//    0  magic "HEDDLE\r\n"     a text-mode copy damages it visibly
//    8  u32 format version
//   12  u32 number of sections
//   16  u64 length of the file
//   24  u64 u64 key, high and low
//   40  u64 length of the key text
//   48  u64 u64 checksum over bytes [0, 48) and [64, end), high and low
//   64  key text
//       per section: u32 length of the name, u64 length of the data, name, data
#include "runtime/cache_entry.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

namespace heddle::runtime {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the cache file's numbers are written as they are held");

constexpr std::string_view kMagic = "HEDDLE\r\n";
constexpr uint32_t kFormatVersion = 1;
constexpr size_t kChecksumAt = 48, kHeaderBytes = 64;

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes values off the front of the bytes; false once they run out.
struct Reader {
  std::string_view rest;

  template <class T>
  bool number(T& value) {
    if (rest.size() < sizeof value) return false;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return true;
  }
  bool bytes(uint64_t count, std::string_view& value) {
    if (rest.size() < count) return false;
    value = rest.substr(0, count);
    rest.remove_prefix(count);
    return true;
  }
};

}  // namespace

const std::string* Entry::find(std::string_view name) const {
  for (const Section& section : sections)
    if (section.name == name) return &section.data;
  return nullptr;
}

std::string encode_entry(std::string_view key_text, const Entry& entry) {
  std::string body(key_text);
  for (const Entry::Section& section : entry.sections) {
    append(body, uint32_t(section.name.size()));
    append(body, uint64_t(section.data.size()));
    body += section.name;
    body += section.data;
  }
  const Key key = key_of(key_text);
  std::string file(kMagic);
  append(file, kFormatVersion);
  append(file, uint32_t(entry.sections.size()));
  append(file, uint64_t(kHeaderBytes + body.size()));
  append(file, key.hi);
  append(file, key.lo);
  append(file, uint64_t(key_text.size()));
  const Key checksum = checksum_of(file, body);
  append(file, checksum.hi);
  append(file, checksum.lo);
  file += body;
  return file;
}

bool decode_entry(std::string_view file, std::string_view key_text, Entry& entry, std::string& reason) {
  Reader reader{file};
  std::string_view magic, text;
  uint32_t version = 0, count = 0;
  uint64_t file_bytes = 0, text_bytes = 0;
  Key key, checksum;
  if (!reader.bytes(kMagic.size(), magic) || magic != kMagic) {
    reason = "it is no cache file";
    return false;
  }
  if (!reader.number(version) || version != kFormatVersion) {
    reason = fmt::format("its format version is {}, not {}", version, kFormatVersion);
    return false;
  }
  if (!reader.number(count) || !reader.number(file_bytes) || !reader.number(key.hi) ||
      !reader.number(key.lo) || !reader.number(text_bytes) || !reader.number(checksum.hi) ||
      !reader.number(checksum.lo) || file_bytes != file.size()) {
    reason = fmt::format("it holds {} bytes of {}", file.size(), file_bytes);
    return false;
  }
  if (checksum != checksum_of(file.substr(0, kChecksumAt), file.substr(kHeaderBytes))) {
    reason = "its checksum is wrong";
    return false;
  }
  if (key != key_of(key_text) || !reader.bytes(text_bytes, text) || text != key_text) {
    reason = "it belongs to another key";
    return false;
  }
  // A right checksum proves that the bytes are as written, not who wrote them: lengths are still checked.
  Entry read;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t name_bytes = 0;
    uint64_t data_bytes = 0;
    std::string_view name, data;
    if (!reader.number(name_bytes) || !reader.number(data_bytes) || !reader.bytes(name_bytes, name) ||
        !reader.bytes(data_bytes, data)) {
      reason = fmt::format("its section {} of {} runs past the end", i + 1, count);
      return false;
    }
    read.sections.push_back({std::string(name), std::string(data)});
  }
  if (!reader.rest.empty()) {
    reason = fmt::format("{} bytes follow its last section", reader.rest.size());
    return false;
  }
  entry = std::move(read);
  return true;
}

}  // namespace heddle::runtime
