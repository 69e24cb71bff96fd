// The fixed point of four small passes.
#include "codegen/passes/canonicalise.h"

#include "codegen/passes/fuse_dots.h"
#include "codegen/passes/order.h"
#include "codegen/passes/remove_dead.h"
#include "codegen/passes/simplify.h"

namespace heddle::codegen {

void canonicalise(ir::Function& function) {
  // Dots are fused where the user wrote them: before loop invariants move, and before equal dots are merged.
  remove_dead(function);
  fuse_dots(function);
  remove_dead(function);
  for (bool changed = true; changed;) {
    order_by_use(function);
    changed = simplify(function);
    changed |= remove_dead(function);
    changed |= fuse_dots(function);
  }
}

}  // namespace heddle::codegen
