// The text form of a function (grammar: docs/ir.md). It is what the cache hashes and what people read, so it
// is a function of the graph alone: no addresses, no names of dims, and no source lines unless asked for.
#pragma once

#include <string>
#include <string_view>

#include "codegen/ir/ir.h"

namespace heddle::ir {

struct PrintOptions {
  bool locations = false;  // ` @ "kernel.cpp":12` after ops and loop arguments that carry one
};

// Parsing the result gives a function that prints the same. A broken function prints too: a value that is
// used where it is not defined reads %?.
std::string print(const Function& function, PrintOptions options = {});

// The payload of the number that a constant of `type` holds: `payload` wrapped to its width or rounded to its
// precision, once. Constants of one type are equal when these are.
int64_t normalise_payload(DType type, int64_t payload);

// A constant's payload as print() writes it: "d0", "-3", "true", "0.1", "inf", "nan".
std::string print_constant(DType type, Extent payload);

// The names in an op's row of the table, one an attribute; empty for the unnamed ones of "*".
std::string_view attribute_name(const OpInfo& row, size_t index);
// The attribute that is an element type.
inline constexpr std::string_view kElementAttribute = "element";

}  // namespace heddle::ir
