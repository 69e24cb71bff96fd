// C++ numbers as constants of an element type. Not a public header.
#pragma once

#include <string>

#include "dsl/record.h"

namespace heddle::record {

// The payload of a constant op of `type` with the value of `number`: what cast would give.
int64_t rounded_payload(DType type, Number number);
// Whether `type` holds the number exactly.
bool holds(DType type, Number number);
std::string to_string(Number number);
// Why `type` does not hold the number, and what to write instead.
std::string describe_misfit(DType type, Number number);

}  // namespace heddle::record
