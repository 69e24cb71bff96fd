#include "codegen/build_id.h"

#include <doctest/doctest.h>

TEST_CASE("the build identity holds the linker's hash of the code") {
  const std::string& identity = heddle::codegen::build_identity();
  const size_t at = identity.find(" build ");
  REQUIRE(at != std::string::npos);
  CHECK(identity.substr(at + 7).size() == 40);  // sha1
  CHECK(identity.find_first_not_of("0123456789abcdef", at + 7) == std::string::npos);
}
