// Where a kernel's instances get their work from: the launch grid, or the tiles of a work space.
#pragma once

#include "dsl/memory.h"

namespace heddle {

// An element offset along an axis that is walked in steps: an i64 scalar that also knows which step it is.
class Coordinate : public Scalar<i64> {
 public:
  Coordinate(record::Handle offset, record::Handle first, record::Handle step, Where where)
      : Scalar<i64>(offset, where), first_(first), step_(step) {}

  // 0 for the first tile or step, then 1, 2, ...
  Scalar<i64> index(Where where = Where::current()) const {
    return {record::ordinal(handle, first_, step_, where), where};
  }

 private:
  record::Handle first_, step_;
};

// What tile_id gives, for `auto [m, n] = tile_id<BM, BN>(c);`.
template <int R>
struct Coordinates;
template <>
struct Coordinates<1> {
  Coordinate first;
};
template <>
struct Coordinates<2> {
  Coordinate first, second;
};
template <>
struct Coordinates<3> {
  Coordinate first, second, third;
};

// This instance's place along `axis` (0, 1 or 2) of the grid that the caller gave.
inline Scalar<i64> program_id(int axis, Where where = Where::current()) {
  return {record::program_id(axis, where), where};
}

namespace detail {

template <auto... D, int N>
Coordinates<N> tile_id(const record::Handle (&extents)[N], Where where) {
  record::Handle offset[N];
  record::tile_id(extents, kExtentList<D...>, N, offset, where);
  const record::Handle size[N] = {record::literal(extent_of<D>(), where)...};
  auto at = [&](int i) { return Coordinate(offset[i], {}, size[i], where); };
  if constexpr (N == 1) return {at(0)};
  if constexpr (N == 2) return {at(0), at(1)};
  if constexpr (N == 3) return {at(0), at(1), at(2)};
}

}  // namespace detail

// The work space: the tiles of D... that cover a view. The kernel runs once for each; which instance takes
// which is the schedule's affair. Gives the tile's element offsets. A batch axis has tile size 1: tile_id<1,
// BM, BN>(c).
template <auto... D, class T, int R, int F>
auto tile_id(const View<T, R, F>& view, Where where = Where::current()) {
  static_assert(sizeof...(D) == R,
                "tile_id<D...>(view): one tile size for each axis of the view; a batch axis has size 1");
  static_assert(sizeof...(D) >= 1 && sizeof...(D) <= 3, "a work space has one to three axes");
  static_assert((detail::valid_extent<D>() && ...), "tile sizes are dims, or integers of at least 1");
  if constexpr (sizeof...(D) == R && R <= 3) {
    record::Handle extents[R];
    for (int i = 0; i < R; ++i) extents[i] = view.extent(i, where).handle;
    return detail::tile_id<D...>(extents, where);
  }
}
// The same over extents given one by one.
template <auto A>
Coordinates<1> tile_id(Index extent, Where where = Where::current()) {
  return detail::tile_id<A>({extent.handle}, where);
}
template <auto A, auto B>
Coordinates<2> tile_id(Index first, Index second, Where where = Where::current()) {
  return detail::tile_id<A, B>({first.handle, second.handle}, where);
}
template <auto A, auto B, auto C>
Coordinates<3> tile_id(Index first, Index second, Index third, Where where = Where::current()) {
  return detail::tile_id<A, B, C>({first.handle, second.handle, third.handle}, where);
}

template <auto... D, class... X>
  requires(sizeof...(D) != sizeof...(X))
void tile_id(const X&...) {
  static_assert(detail::kNever<X...>, "tile_id<D...>(...) takes one View, or one extent for each tile size");
}

// numerator / denominator, rounded up, both positive: of i64 scalars in a kernel, of integers on the host.
template <class A, class B>
  requires(detail::kIsExpression<A> || detail::kIsExpression<B>)
Scalar<i64> ceil_div(const A& numerator, const B& denominator, Where where = Where::current()) {
  const Index above(numerator, where), below(denominator, where);
  return {record::ceil_div(above.handle, below.handle, where), where};
}
template <class A, class B>
  requires(std::is_integral_v<A> && std::is_integral_v<B>)
constexpr int64_t ceil_div(A numerator, B denominator) {
  return (int64_t(numerator) + int64_t(denominator) - 1) / int64_t(denominator);
}

}  // namespace heddle
