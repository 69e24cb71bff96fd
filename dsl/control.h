// Control flow that happens when the kernel runs: loops, branches, while. Plain C++ `if` and `for` on host
// values act while the kernel is recorded, and specialise and unroll it.
#pragma once

#include "dsl/work.h"

namespace heddle {
namespace detail {

// A loop being recorded. Its body runs once; the iterator's end-of-step closes the region.
class LoopIterator {
 public:
  LoopIterator(record::OpenLoop loop, record::Handle first, record::Handle step, Where where)
      : scope_(loop.scope), index_(loop.index), first_(first), step_(step), where_(where) {}

  Coordinate operator*() const { return {index_, first_, step_, where_}; }
  LoopIterator& operator++() {
    scope_.close();
    return *this;
  }
  struct End {};
  bool operator!=(End) const { return scope_.open(); }

 private:
  record::Scope scope_;
  record::Handle index_, first_, step_;
  Where where_;
};

class Loop {
 public:
  Loop(Index lower, Index upper, Index step, bool cuttable, Where where)
      : lower_(lower.handle), upper_(upper.handle), step_(step.handle), cuttable_(cuttable), where_(where) {}

  LoopIterator begin() const {
    return {record::open_loop(lower_, upper_, step_, cuttable_, where_), lower_, step_, where_};
  }
  LoopIterator::End end() const { return {}; }

 private:
  record::Handle lower_, upper_, step_;
  bool cuttable_;
  Where where_;
};

}  // namespace detail

// for (auto i : range(n)), range(lower, upper), range(lower, upper, step): lower, lower + step, ... below
// `upper`, or above it where the step is negative.
inline detail::Loop range(Index upper) {
  return {Index(0, upper.where), upper, Index(1, upper.where), false, upper.where};
}
inline detail::Loop range(Index lower, Index upper) {
  return {lower, upper, Index(1, lower.where), false, lower.where};
}
inline detail::Loop range(Index lower, Index upper, Index step) {
  return {lower, upper, step, false, lower.where};
}

// for (auto k : reduction(extent, BK)): 0, BK, 2 * BK, ... below `extent`. The loop that a schedule may cut;
// the Vars it updates are the partial state.
inline detail::Loop reduction(Index extent, Index step) {
  return {Index(0, extent.where), extent, step, true, extent.where};
}

namespace detail {

template <class F>
consteval void check_body() {
  static_assert(requires(F& body) { body(); }, "the body is a lambda without parameters: [&] { ... }");
  if constexpr (requires(F& body) { body(); })
    static_assert(std::is_void_v<decltype(std::declval<F&>()())>,
                  "the body returns nothing: results go through a Var");
}

// An i1 scalar, or a sentence that says what else it is.
template <class C>
record::Handle condition(const C& condition, Where where) {
  static_assert(!std::is_same_v<C, bool>,
                "the condition is a host value, known while the kernel is recorded: use plain C++ if or for");
  if constexpr (kIsExpression<C>) {
    static_assert(std::is_same_v<typename C::Element, i1>,
                  "the condition is an i1 scalar: write a comparison");
    static_assert(!std::is_same_v<typename C::Element, i1> || C::Shape::kRank == 0,
                  "the condition is a tile, and control flow needs a scalar: use select(c, a, b), a mask, or "
                  "reduce it");
    return use(condition, where);
  } else {
    static_assert(std::is_same_v<C, bool>, "the condition is an i1 scalar: write a comparison");
    return {};
  }
}

}  // namespace detail

// What when() gives, for .otherwise().
class Branch {
 public:
  explicit Branch(record::Handle branch) : branch_(branch) {}
  // Directly after when(...).
  template <class F>
  void otherwise(F&& body, Where where = Where::current()) const {
    detail::check_body<F>();
    record::Scope scope(record::open_otherwise(branch_, where));
    body();
    scope.close();
  }

 private:
  record::Handle branch_;
};

// when(c, [&] { ... }).otherwise([&] { ... }): one of the two, by an i1 scalar.
template <class C, class F>
Branch when(const C& condition, F&& body, Where where = Where::current()) {
  detail::check_body<F>();
  const record::OpenBranch branch = record::open_branch(detail::condition(condition, where), where);
  record::Scope scope(branch.scope);
  body();
  scope.close();
  return Branch(branch.branch);
}

// while_([&] { return c; }, [&] { ... }): repeats the body while the i1 scalar holds. What the condition
// reads and the body changes is a Var.
template <class C, class F>
void while_(C&& condition, F&& body, Where where = Where::current()) {
  static_assert(
      requires { condition(); }, "while_'s condition is a lambda that returns it: [&] { return i < n; }");
  detail::check_body<F>();
  if constexpr (requires { condition(); }) {
    record::Scope scope(record::open_while(where));
    record::close_condition(scope.handle(), detail::condition(condition(), where), where);
    body();
    scope.close();
  }
}

}  // namespace heddle
