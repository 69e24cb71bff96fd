// Records a kernel's body, without running it: for the run time and the tests. Not a public header.
#pragma once

#include <memory>

#include "codegen/ir/ir.h"
#include "runtime/launch.h"

namespace heddle {

// The raw tile IR, variables and all. Throws Error for a body that breaks a rule, and for dims that don't
// match.
std::unique_ptr<ir::Function> trace(const runtime::KernelSource& source,
                                    const runtime::TraceRequest& request);

// The same for a Kernel, with its dims bound.
template <class K>
std::unique_ptr<ir::Function> trace(const K& kernel, const Dims& dims = {}) {
  return trace(kernel.source(),
               {.dims = &dims, .unbound_dim_value = 0, .facts = nullptr, .schedule_where = {}});
}

}  // namespace heddle
