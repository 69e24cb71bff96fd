// Refuses reductions into which the zeros beyond a view's end would leak.
#pragma once

#include "codegen/ir/ir.h"

namespace heddle::codegen {

// A view load without a fill may reach beyond its view and then holds zeros that are no data. They are
// followed through the function: what each op makes of them is folded where it can be known. Refused are max,
// min and product along an axis with such lanes; a sum along it unless they are 0 by then; and a dot whose
// inner axis has such lanes that are 0 in neither operand. A fill, a mask of a pointer load, and a select by
// a condition that is not itself computed from such lanes are the user's own choice and end the matter.
//
// Decided without looking at extents, so that a kernel that is right for one problem is right for all. Runs
// after promote_variables, and before canonicalise folds away what it looks at. Throws Error (trace) at the
// reduction's line.
void check_partial(const ir::Function& function);

}  // namespace heddle::codegen
