#include "runtime/cache_entry.h"

#include <doctest/doctest.h>

#include <random>

using namespace heddle::runtime;

namespace {

const std::string kText = "ir (3 bytes): abc\n";

Entry sample() {
  return {{{"object", std::string("\0\x7f"
                                  "ELF\xff",
                                  6)},
           {"metadata", R"({"scratch_bytes": 64})"},
           {"", ""}}};
}

bool decodes(std::string_view bytes, std::string_view text = kText) {
  Entry entry;
  std::string reason;
  const bool ok = decode_entry(bytes, text, entry, reason);
  CHECK(ok == reason.empty());
  CHECK((ok || entry == Entry{}));  // a failure leaves nothing half read
  return ok;
}

}  // namespace

TEST_CASE("entries come back as they were") {
  for (const Entry& entry : {sample(), Entry{}, Entry{{{"ptx", std::string(100000, 'x')}}}}) {
    Entry read;
    std::string reason;
    REQUIRE(decode_entry(encode_entry(kText, entry), kText, read, reason));
    CHECK(read == entry);
  }
  const Entry entry = sample();
  REQUIRE(entry.find("metadata"));
  CHECK(*entry.find("metadata") == R"({"scratch_bytes": 64})");
  CHECK(entry.find("cubin") == nullptr);
}

TEST_CASE("the key text can be read in the file") {
  CHECK(encode_entry(kText, sample()).find(kText) != std::string::npos);
}

TEST_CASE("every change of a single bit is noticed") {
  const std::string good = encode_entry(kText, sample());
  std::string bytes = good;
  for (size_t i = 0; i < good.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= char(1 << bit);
      if (decodes(bytes)) FAIL("byte " << i << ", bit " << bit);
      bytes[i] = good[i];
    }
  CHECK(decodes(bytes));
}

TEST_CASE("every truncation and every addition is noticed") {
  const std::string good = encode_entry(kText, sample());
  for (size_t size = 0; size < good.size(); ++size)
    if (decodes(good.substr(0, size))) FAIL("size " << size);
  CHECK_FALSE(decodes(good + '\0'));
  CHECK_FALSE(decodes(good + good));
}

TEST_CASE("another key's entry is refused") {
  CHECK_FALSE(decodes(encode_entry(kText, sample()), kText + " "));
  CHECK_FALSE(decodes(encode_entry("", sample())));
}

TEST_CASE("hostile lengths under a right checksum are refused") {
  // Rewrites one field of a good file and signs it again.
  const auto forge = [](size_t at, uint64_t value, size_t bytes) {
    std::string file = encode_entry(kText, sample());
    for (size_t i = 0; i < bytes; ++i) file[at + i] = char(value >> (8 * i));
    const Key checksum = checksum_of(std::string_view(file).substr(0, 48), std::string_view(file).substr(64));
    for (size_t i = 0; i < 8; ++i) {
      file[48 + i] = char(checksum.hi >> (8 * i));
      file[56 + i] = char(checksum.lo >> (8 * i));
    }
    return file;
  };
  CHECK(decodes(forge(12, 3, 4)));  // the forgery itself is sound
  const size_t section = 64 + kText.size();
  for (const uint64_t value :
       {uint64_t(0), uint64_t(2), uint64_t(1) << 31, ~uint64_t(0), ~uint64_t(0) - 63}) {
    CHECK_FALSE(decodes(forge(12, value, 4)));           // number of sections
    CHECK_FALSE(decodes(forge(16, value, 8)));           // length of the file
    CHECK_FALSE(decodes(forge(40, value, 8)));           // length of the key text
    CHECK_FALSE(decodes(forge(section, value, 4)));      // length of a name
    CHECK_FALSE(decodes(forge(section + 4, value, 8)));  // length of data
  }
}

TEST_CASE("random bytes are refused") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 300, '\0');
    for (char& c : bytes) c = char(random());
    if (round % 2) bytes.replace(0, 8, "HEDDLE\r\n");
    if (decodes(bytes)) FAIL("round " << round);
  }
}
