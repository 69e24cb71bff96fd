// Lists of extents in types: which agree, and what two operands' extents meet in. All of it happens in the
// compiler.
#pragma once

#include "dsl/dim.h"

namespace heddle {
namespace detail {

// `A`, `B` are dims or integers.
template <auto A>
inline constexpr bool kIsNumberExtent = std::is_integral_v<decltype(A)> && !std::is_same_v<decltype(A), bool>;

template <auto A>
consteval bool valid_extent() {
  if constexpr (kIsDim<std::remove_const_t<decltype(A)>>)
    return true;
  else if constexpr (kIsNumberExtent<A>)
    return A >= 1;
  else
    return false;
}

template <auto A>
consteval bool is_one() {
  if constexpr (kIsNumberExtent<A>)
    return A == 1;
  else
    return false;
}

// Same dim, or same number. A dim never agrees with a number: what it is bound to may change.
template <auto A, auto B>
consteval bool same_extent() {
  if constexpr (kIsNumberExtent<A> && kIsNumberExtent<B>)
    return A == B;
  else
    return std::is_same_v<std::remove_const_t<decltype(A)>, std::remove_const_t<decltype(B)>>;
}

template <auto A>
consteval record::Extent extent_of() {
  if constexpr (kIsNumberExtent<A>)
    return {.dim = nullptr, .value = int64_t(A)};
  else
    return {.dim = decltype(A)::heddle_dim_name, .value = 0};
}

// ---- Lists of extents
template <auto... D>
struct Extents {
  static constexpr int kRank = sizeof...(D);
};

template <auto... D>
inline constexpr record::Extent kExtentList[sizeof...(D) + 1] = {extent_of<D>()..., {}};
template <auto... D>
inline constexpr record::Shape kShape = {kExtentList<D...>, sizeof...(D)};

template <class S, class T>
inline constexpr bool kSameExtents = false;
template <auto... A, auto... B>
  requires(sizeof...(A) == sizeof...(B))
inline constexpr bool kSameExtents<Extents<A...>, Extents<B...>> = (same_extent<A, B>() && ...);

// The extents that cover both: equal ones, 1 against anything, a scalar against anything. Where that fails
// `type` is the first list, so that one mistake gives one message.
template <auto A, auto B>
inline constexpr auto kJoinedExtent = A;
template <auto A, auto B>
  requires(is_one<A>() && !is_one<B>())
inline constexpr auto kJoinedExtent<A, B> = B;

template <class S, class T>
struct Join {
  static constexpr bool kRanksMeet = false, kExtentsMeet = false;
  using type = S;
};
template <auto... A, auto... B>
  requires(sizeof...(A) == sizeof...(B))
struct Join<Extents<A...>, Extents<B...>> {
  static constexpr bool kRanksMeet = true;
  static constexpr bool kExtentsMeet = ((same_extent<A, B>() || is_one<A>() || is_one<B>()) && ...);
  using type = Extents<kJoinedExtent<A, B>...>;
};
template <auto... A>
  requires(sizeof...(A) > 0)
struct Join<Extents<A...>, Extents<>> {
  static constexpr bool kRanksMeet = true, kExtentsMeet = true;
  using type = Extents<A...>;
};
template <auto... B>
  requires(sizeof...(B) > 0)
struct Join<Extents<>, Extents<B...>> {
  static constexpr bool kRanksMeet = true, kExtentsMeet = true;
  using type = Extents<B...>;
};

}  // namespace detail
}  // namespace heddle
