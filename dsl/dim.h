// Named dims: empty tag objects that stand in types (`Tile<f16, BM, BK>`), as numbers in index arithmetic,
// and in the schedule that binds them (`BM = 128`). Knows nothing of tiles.
#pragma once

#include <type_traits>

#include "codegen/ir/schedule.h"
#include "dsl/record.h"

namespace heddle {

using record::Where;

namespace detail {

// The number at the right of `BM = 128`, with the line it stands on.
struct BoundNumber {
  int64_t value;
  Location where;
  template <class I>
    requires(std::is_integral_v<I> && !std::is_same_v<I, bool>)
  constexpr BoundNumber(I number, Where where = Where::current()) : value(int64_t(number)), where(where) {}
};

template <class D>
inline constexpr bool kIsDim = requires { D::heddle_dim_name; };

}  // namespace detail

// Declares the dim NAME, at namespace scope. Dims of one name are one dim to a schedule.
#define HEDDLE_DIM(NAME)                                                                        \
  struct NAME##_dim {                                                                           \
    static constexpr const char* heddle_dim_name = #NAME;                                       \
    constexpr ::heddle::DimBinding operator=(::heddle::detail::BoundNumber number) const {      \
      return {#NAME, number.value, number.where};                                               \
    }                                                                                           \
    /* The bound number, while a kernel is traced: a host integer, for plain `if` and `for`. */ \
    int64_t value(::heddle::Where where = ::heddle::Where::current()) const {                   \
      return ::heddle::record::dim_value(#NAME, where);                                         \
    }                                                                                           \
  };                                                                                            \
  inline constexpr NAME##_dim NAME {}

}  // namespace heddle
