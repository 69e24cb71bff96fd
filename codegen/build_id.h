// Which build of Heddle is running. Part of every cache key: code from another build of the compiler is never
// reused.
#pragma once

#include <string>

namespace heddle::codegen {

// The version and the GNU build id (a hash the linker takes over all code) of the object file that contains
// Heddle.
const std::string& build_identity();

}  // namespace heddle::codegen
