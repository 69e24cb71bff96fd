// Local identities of pure ops: what an op equals, seen from it and the ops its operands come from.
#pragma once

#include <functional>
#include <vector>

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Makes an op in the place of the one being rewritten; its value in canonical form.
using MakeValue =
    std::function<ir::Value*(ir::Opcode, std::vector<ir::Value*>, std::vector<ir::Extent>, ir::Type)>;

// A value equal to `op`'s result, bit for bit (any NaN for any NaN), or null where no identity applies. `op`
// is pure and has one result.
ir::Value* rewrite(const ir::Function& function, const ir::Op& op, const MakeValue& make);

// Whether every value of `from` is also one of `to`.
bool embeds(DType from, DType to);

}  // namespace heddle::codegen
