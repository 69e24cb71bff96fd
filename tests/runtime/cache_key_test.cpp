#include "runtime/cache_key.h"

#include <doctest/doctest.h>

#include <set>

using namespace heddle::runtime;

TEST_CASE("different inputs give different key texts, however values are cut") {
  const std::set<std::string> texts = {
      key_text({{"ir", "ab"}, {"target", "c"}}),
      key_text({{"ir", "a"}, {"target", "bc"}}),
      key_text({{"ir", "ab"}}),
      key_text({{"ir", "ab\ntarget (1 bytes): c"}}),
      key_text({{"target", "c"}, {"ir", "ab"}}),
      key_text({}),
  };
  CHECK(texts.size() == 6);
}

TEST_CASE("keys are 128 bits of XXH3, stable from run to run") {
  CHECK(key_of("").hex() == "99aa06d3014798d86001c324468d497f");  // published test vector, seed 0
  CHECK(key_of("a") != key_of("b"));
  CHECK(Key{.hi = 1, .lo = 0xabc}.hex() == "00000000000000010000000000000abc");
}

TEST_CASE("checksums use another seed than keys") {
  CHECK(checksum_of("", "abc") != key_of("abc"));
}
