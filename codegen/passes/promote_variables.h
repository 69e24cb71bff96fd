// Variables become values: what a loop or branch writes turns into its state.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// Removes variable, read_variable and write_variable. A loop or branch in whose regions an outer variable is
// written gains, for each such variable in the order of declaration, an operand (loops), a region argument
// (loops; it carries the variable's line), a yielded value and a result. State that nothing reads is left to
// canonicalise.
//
// Precedes every other pass: the others see values alone.
void promote_variables(ir::Function& function);

}  // namespace heddle::codegen
