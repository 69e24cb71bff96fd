#include "dsl/trace.h"

namespace heddle {

std::unique_ptr<ir::Function> trace(const runtime::KernelSource& source,
                                    const runtime::TraceRequest& request) {
  return std::unique_ptr<ir::Function>(source.trace(source, request));
}

}  // namespace heddle
