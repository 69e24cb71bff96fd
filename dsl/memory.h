// load and store, through pointers with masks and through views, which know their extents. Lanes outside a
// mask or a view read as `fill`, else as zero, and touch no memory.
#pragma once

#include "dsl/pointer.h"
#include "dsl/view.h"

namespace heddle {
namespace detail {

// A mask, fill or value beside pointers of shape `S`: of element T, with S's extents or ones that stretch to
// them.
template <class T, class S, class X>
auto beside_pointers(const X& x, Where where) {
  if constexpr (kIsExpression<X>) {
    constexpr bool element = std::is_same_v<T, typename X::Element>;
    static_assert(element || !std::is_same_v<T, i1>, "a mask is an i1 tile: write a comparison");
    static_assert(element || std::is_same_v<T, i1>,
                  "the element type is not what the pointer points to, and nothing converts by itself: write "
                  "cast<T>(x)");
    using Joined = Join<S, typename X::Shape>;
    static_assert(
        !element || (Joined::kRanksMeet && Joined::kExtentsMeet && kSameExtents<typename Joined::type, S>),
        "the extents are not those of the pointers, nor 1: every lane needs its own pointer (p + offsets)");
    return use(x, where);
  } else {
    return literal<T>(x, where);
  }
}

template <class P>
consteval void check_pointer() {
  static_assert(!kIsView<P>,
                "a View is read with load<D...>(view, {i, j}) and written with store(view, {i, j}, tile)");
  static_assert(kIsView<P> || kIsPointer<P>,
                "the first argument is a pointer (Ptr<T>, or p + offsets) or a View");
}

template <class P>
using Loaded = typename TileFor<std::remove_const_t<typename P::Pointee>, typename P::Shape>::type;

// All offsets into a view: those that view[i] fixed, then the given ones.
template <class V, int N>
struct Offsets {
  static constexpr int kCount = V::kFixed + N;
  record::Handle handles[kCount];
  Offsets(const V& view, const Index (&given)[N]) {
    for (int i = 0; i < V::kFixed; ++i) handles[i] = view.fixed()[i];
    for (int i = 0; i < N; ++i) handles[V::kFixed + i] = given[i].handle;
  }
};

template <class V, int N, int rank>
consteval bool check_view() {
  static_assert(N == V::kRank, "a view takes one offset for each of its axes: load<D...>(view, {i, j})");
  static_assert(rank <= V::kRank, "the tile has more axes than the view");
  return N == V::kRank && rank <= V::kRank;
}

template <class T, auto... D, class V, int N>
Tile<T, D...> load_view(const V& view, const Index (&offsets)[N], record::Handle fill, Where where) {
  const Offsets<V, N> all(view, offsets);
  return {record::load_view(view.handle(), all.handles, all.kCount, kShape<D...>, fill, where), where};
}

}  // namespace detail

// ---- Pointers
template <class P>
auto load(const P& pointer, Where where = Where::current()) {
  detail::check_pointer<P>();
  if constexpr (detail::kIsPointer<P>)
    return detail::Loaded<P>(record::load(pointer.handle, {}, {}, where), where);
}
template <class P, class M>
auto load(const P& pointer, const M& mask, Where where = Where::current()) {
  detail::check_pointer<P>();
  if constexpr (detail::kIsPointer<P>) {
    const record::Handle live = detail::beside_pointers<i1, typename P::Shape>(mask, where);
    return detail::Loaded<P>(record::load(pointer.handle, live, {}, where), where);
  }
}
template <class P, class M, class X>
auto load(const P& pointer, const M& mask, const X& fill, Where where = Where::current()) {
  detail::check_pointer<P>();
  if constexpr (detail::kIsPointer<P>) {
    const record::Handle live = detail::beside_pointers<i1, typename P::Shape>(mask, where);
    using T = std::remove_const_t<typename P::Pointee>;
    const record::Handle outside = detail::beside_pointers<T, typename P::Shape>(fill, where);
    return detail::Loaded<P>(record::load(pointer.handle, live, outside, where), where);
  }
}

template <class P, class X>
void store(const P& pointer, const X& value, Where where = Where::current()) {
  detail::check_pointer<P>();
  if constexpr (detail::kIsPointer<P>) {
    static_assert(!std::is_const_v<typename P::Pointee>,
                  "Ptr<const T> is read-only: make the parameter a Ptr<T>");
    using T = std::remove_const_t<typename P::Pointee>;
    record::store(pointer.handle, detail::beside_pointers<T, typename P::Shape>(value, where), {}, where);
  }
}
template <class P, class X, class M>
void store(const P& pointer, const X& value, const M& mask, Where where = Where::current()) {
  detail::check_pointer<P>();
  if constexpr (detail::kIsPointer<P>) {
    static_assert(!std::is_const_v<typename P::Pointee>,
                  "Ptr<const T> is read-only: make the parameter a Ptr<T>");
    using T = std::remove_const_t<typename P::Pointee>;
    const record::Handle written = detail::beside_pointers<T, typename P::Shape>(value, where);
    const record::Handle live = detail::beside_pointers<i1, typename P::Shape>(mask, where);
    record::store(pointer.handle, written, live, where);
  }
}

// ---- Views: the tile whose first lane is at `offsets`, one element offset for each axis of the view. A tile
// of lower rank lies along the view's last axes.
template <auto... D, class T, int R, int F, int N>
Tile<std::remove_const_t<T>, D...> load(const View<T, R, F>& view, const Index (&offsets)[N],
                                        Where where = Where::current()) {
  if constexpr (detail::check_view<View<T, R, F>, N, sizeof...(D)>())
    return detail::load_view<std::remove_const_t<T>, D...>(view, offsets, {}, where);
}
template <auto... D, class T, int R, int F, int N, class X>
Tile<std::remove_const_t<T>, D...> load(const View<T, R, F>& view, const Index (&offsets)[N], const X& fill,
                                        Where where = Where::current()) {
  using E = std::remove_const_t<T>;
  if constexpr (detail::check_view<View<T, R, F>, N, sizeof...(D)>()) {
    if constexpr (detail::kIsExpression<X>)
      return detail::load_view<E, D...>(view, offsets, detail::use_as<Scalar<E>>(fill, where), where);
    else
      return detail::load_view<E, D...>(view, offsets, detail::literal<E>(fill, where), where);
  }
}

template <class T, int R, int F, int N, class X>
void store(const View<T, R, F>& view, const Index (&offsets)[N], const X& tile,
           Where where = Where::current()) {
  using V = View<T, R, F>;
  static_assert(!std::is_const_v<T>, "View<const T, R> is read-only: make the parameter a View<T, R>");
  static_assert(detail::kIsExpression<X>,
                "what is stored to a view is a tile: full<T, D...>(x) makes one of a number");
  if constexpr (detail::kIsExpression<X>) {
    static_assert(
        std::is_same_v<typename X::Element, std::remove_const_t<T>>,
        "the tile's element type is not the view's, and nothing converts by itself: write cast<T>(x)");
    if constexpr (detail::check_view<V, N, X::Shape::kRank>()) {
      const detail::Offsets<V, N> all(view, offsets);
      record::store_view(view.handle(), all.handles, all.kCount, detail::use(tile, where), where);
    }
  }
}

}  // namespace heddle
