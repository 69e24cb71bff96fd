// One lane of a tile as raw bits, and the C++ values that stand for it in arithmetic.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "codegen/ir/dtype.h"

namespace heddle::ir {

// The element's own bits in the low bits, zeros above them; i1 is 0 or 1; a pointer is its address.
using Lane = uint64_t;

// The type that arithmetic on an element happens in: its storage type, but float for the small floats.
template <DType type>
struct LaneValue;
#define HEDDLE_ROW(name, storage, bits, kind)                                                   \
  template <>                                                                                   \
  struct LaneValue<DType::name> {                                                               \
    using Storage = storage;                                                                    \
    using Value = std::conditional_t<is_any_float(DType::name) && (bits < 32), float, Storage>; \
  };
HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW

template <DType type>
typename LaneValue<type>::Value read_lane(Lane lane) {
  using Value = typename LaneValue<type>::Value;
  if constexpr (type == DType::f64)
    return std::bit_cast<double>(lane);
  else if constexpr (type == DType::f32)
    return std::bit_cast<float>(uint32_t(lane));
  else if constexpr (is_any_float(type))
    return decode_float(uint32_t(lane), float_format(type));
  else
    return Value(lane);
}

// Rounds once where the element is narrower than the value.
template <DType type>
Lane write_lane(typename LaneValue<type>::Value value) {
  if constexpr (type == DType::f64)
    return std::bit_cast<uint64_t>(value);
  else if constexpr (type == DType::f32)
    return std::bit_cast<uint32_t>(value);
  else if constexpr (is_any_float(type))
    return encode_float(value, float_format(type));
  else if constexpr (type == DType::i1)
    return value;
  else
    return std::make_unsigned_t<decltype(value)>(value);
}

// Calls visit.operator()<type>() for the type known at run time.
template <class Visit>
auto visit_dtype(DType type, Visit&& visit) {
  switch (type) {
#define HEDDLE_ROW(name, storage, bits, kind) \
  case DType::name: return visit.template operator()<DType::name>();
    HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
  }
  return visit.template operator()<DType::f32>();  // no such type
}

}  // namespace heddle::ir
