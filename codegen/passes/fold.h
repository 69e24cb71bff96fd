// Constant folding of single ops, by the meaning that ops.def and the interpreter give them.
#pragma once

#include <optional>

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// The payload of the constant that `value` is, normalised; nothing where it is none. Tiles of one value
// count.
std::optional<int64_t> constant_of(const ir::Value* value);

// The payload of `op`'s result when its operands are constants with these payloads (one an operand); nothing
// where the op can't be folded.
std::optional<int64_t> fold(const ir::Op& op, const int64_t* operands);

}  // namespace heddle::codegen
