// Type's comparisons and text form.
#include "codegen/ir/type.h"

#include <fmt/format.h>

namespace heddle::ir {

int64_t Type::count() const {
  int64_t product = 1;
  for (int i = 0; i < rank; ++i) product *= extents[i].value;
  return product;
}

Type Type::with_element(DType type) const {
  Type copy = *this;
  copy.element = type;
  return copy;
}

Type Type::with_kind(Kind new_kind) const {
  Type copy = *this;
  copy.kind = new_kind;
  return copy;
}

Type Type::with_layout(int16_t new_layout) const {
  Type copy = *this;
  copy.layout = new_layout;
  return copy;
}

bool same_shape(const Type& a, const Type& b) {
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i)
    if (a.extents[i].value != b.extents[i].value) return false;
  return true;
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Type::Kind::none) return true;
  if (a.element != b.element || a.rank != b.rank) return false;
  return a.kind == Type::Kind::view || same_shape(a, b);
}

std::string to_string(const Extent& extent) {
  return extent.dim == Extent::kLiteral ? fmt::format("{}", extent.value) : fmt::format("d{}", extent.dim);
}

std::string to_string(const Type& type) {
  std::string shape;
  for (int i = 0; i < type.rank && type.kind != Type::Kind::view; ++i)
    shape += ", " + to_string(type.extents[i]);
  const char* element = heddle::to_string(type.element);
  const std::string layout = type.layout >= 0 ? fmt::format("#{}", type.layout) : std::string();
  switch (type.kind) {
    case Type::Kind::none: return "none";
    case Type::Kind::shared: return fmt::format("shared<{}{}>", element, shape);
    case Type::Kind::view: return fmt::format("view<{}, {}>", element, int(type.rank));
    case Type::Kind::variable: return fmt::format("var<{}{}>", element, shape);
    case Type::Kind::pointer:
      return type.rank ? fmt::format("tile<ptr<{}>{}>{}", element, shape, layout)
                       : fmt::format("ptr<{}>", element);
    case Type::Kind::data: return type.rank ? fmt::format("tile<{}{}>{}", element, shape, layout) : element;
  }
  return "?";
}

}  // namespace heddle::ir
