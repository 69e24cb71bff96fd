// Checks a whole function: what check() can't see from one op. Passes may assume all of it; debug builds call
// verify() after each.
#pragma once

#include <optional>
#include <string>

#include "codegen/ir/ir.h"

namespace heddle::ir {

// How far a function has come. Each level refuses what an earlier pass must have removed.
enum class Level : uint8_t {
  traced,     // anything
  tile,       // after promote_variables: no variables
  scheduled,  // after the schedule pass: nor tile_id, program_id
  expanded,   // after expand_math: nor functions without an expression in ops.def
  machine,    // a machine program: no dots; layouts agree (codegen/machine/verify.h)
};

struct Fault {
  const Op* op;  // null: the function's header
  std::string message;
};

// The first broken rule: check()'s rules for each op; every value defined once, before its uses, in the same
// region or one around it; parents and indices right; regions that end in their only yield, with the types
// that their op asks for; extents and constants that name a dim carry its number.
std::optional<Fault> find_fault(const Function& function, Level level = Level::traced);

// Throws Error (internal) that names the op, the kernel and the source line.
void verify(const Function& function, Level level = Level::traced);

}  // namespace heddle::ir
