// Dims: look-up and comparison by name.
#include "codegen/ir/schedule.h"

#include <cstring>

namespace heddle {

const DimBinding* Dims::find(const char* name) const& {
  for (int i = 0; i < count && i < kMax; ++i)
    if (std::strcmp(bindings[i].name, name) == 0) return &bindings[i];
  return nullptr;
}

bool operator==(const Dims& a, const Dims& b) {
  if (a.count != b.count) return false;
  for (int i = 0; i < a.count && i < Dims::kMax; ++i) {
    // Mostly the same dims in the same order.
    const bool in_place = std::strcmp(a.bindings[i].name, b.bindings[i].name) == 0;
    const DimBinding* other = in_place ? &b.bindings[i] : b.find(a.bindings[i].name);
    if (!other || other->value != a.bindings[i].value) return false;
  }
  return true;
}

}  // namespace heddle
