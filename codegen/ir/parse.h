// Reads what print() writes (grammar: docs/ir.md).
#pragma once

#include <memory>
#include <string_view>

#include "codegen/ir/ir.h"

namespace heddle::ir {

// The function `text` describes: every op checked, values defined before they are used. A result's type may
// be left out where infer() knows it. Throws Error (parse) that names the line of the text and what was
// expected there. Safe on any bytes.
std::unique_ptr<Function> parse(std::string_view text);

}  // namespace heddle::ir
