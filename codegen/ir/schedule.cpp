// Dims: look-up and comparison by name.
#include "codegen/ir/schedule.h"

#include <cstring>

namespace heddle {

const DimBinding* Dims::find(const char* name) const {
  for (int i = 0; i < count && i < kMax; ++i)
    if (std::strcmp(bindings[i].name, name) == 0) return &bindings[i];
  return nullptr;
}

bool operator==(const Dims& a, const Dims& b) {
  if (a.count != b.count || a.count > Dims::kMax) return false;
  for (int i = 0; i < a.count; ++i) {
    // Mostly the same dims in the same order: found without reading the names.
    const DimBinding* other =
        a.bindings[i].name == b.bindings[i].name ? &b.bindings[i] : b.find(a.bindings[i].name);
    if (!other || other->value != a.bindings[i].value) return false;
  }
  return true;
}

}  // namespace heddle
