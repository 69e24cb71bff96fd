// Types of IR values: scalars and tiles of an element type, tiles of pointers, views, and the tracer's
// variables.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "codegen/ir/dtype.h"

namespace heddle::ir {

inline constexpr int kMaxRank = 5;

// A tile extent: its number, and the named dim it came from (index into Function::dims) or kLiteral.
// Two extents agree when the numbers are equal; that names agree is the C++ compiler's affair.
struct Extent {
  static constexpr int32_t kLiteral = -1;
  int64_t value = 0;
  int32_t dim = kLiteral;

  friend bool operator==(const Extent&, const Extent&) = default;
};

struct Type {
  enum class Kind : uint8_t {
    none,      // no value
    data,      // a scalar (rank 0) or tile of `element`
    pointer,   // a pointer, or tile of pointers, to `element`
    view,      // base pointer, `rank` extents and strides; `extents` unused
    variable,  // a mutable data slot of the tracer; gone after promote_variables
    shared,    // a buffer in a CTA's shared memory; `extents` are the memory's (machine programs)
  };
  Kind kind = Kind::none;
  DType element = DType::f32;
  uint8_t rank = 0;
  std::array<Extent, kMaxRank> extents{};
  // Of a tile in a machine program: index into Function::layouts; -1 = not laid out. Not compared by ==.
  int16_t layout = -1;

  bool is_scalar() const { return kind == Kind::data && rank == 0; }
  bool is_tile() const { return kind == Kind::data && rank > 0; }
  int64_t count() const;  // lanes of a tile: product of the extents; 1 for a scalar
  Type with_element(DType type) const;
  Type with_kind(Kind kind) const;
  Type with_layout(int16_t layout) const;

  static Type scalar(DType element) { return {.kind = Kind::data, .element = element}; }

  // Same kind, element and extents by number (the dims' names do not count).
  friend bool operator==(const Type& a, const Type& b);
};

bool same_shape(const Type& a, const Type& b);  // rank and extents by number

// "f32", "tile<f32, d0, 64>", "tile<f32, d0, 64>#2" (laid out), "shared<f32, 64, 32>", "ptr<f32>",
// "tile<ptr<f32>, d0>", "view<f32, 2>", "var<f32, d0>".
std::string to_string(const Type& type);
// "d0" for a dim, "64" for a literal.
std::string to_string(const Extent& extent);

}  // namespace heddle::ir
