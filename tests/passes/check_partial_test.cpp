// check_partial: which reductions the zeros beyond a view's end would leak into, written as a user would.
#include "codegen/passes/check_partial.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "codegen/compile.h"
#include "dsl/heddle.h"
#include "dsl/trace.h"

namespace heddle {
namespace {

HEDDLE_DIM(R);
HEDDLE_DIM(C);
HEDDLE_DIM(K);

using In = View<const f32, 2>;
using Out = View<f32, 2>;

// The complaint about a kernel, or "" if it is fine.
template <class F>
std::string complaint(const Kernel<F>& kernel) {
  const Dims dims;
  const runtime::TraceRequest request{
      .dims = &dims, .unbound_dim_value = 16, .facts = nullptr, .schedule_where = {}};
  try {
    codegen::TracedKernel::analyse(trace(kernel.source(), request));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::trace);
    CHECK(std::string(error.where().file).ends_with("check_partial_test.cpp"));
    return error.message();
  }
  return "";
}

bool refused(const std::string& message, const char* what) {
  return message.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("max, min and product of a load that can be partial are refused; a fill or a mask mends them") {
  const Kernel bad_max{
      "k", [](In in, Out out) { store(out, {0, 0}, broadcast<R, 1>(max<1>(load<R, C>(in, {0, 0})))); }};
  CHECK(refused(complaint(bad_max), "max along axis 1 would count lanes beyond the end of a view"));
  CHECK(refused(complaint(bad_max), "check_partial_test.cpp:"));
  const Kernel bad_min{"k", [](In in, Out out) { store(out, {0, 0}, min<0>(load<R, C>(in, {0, 0}))); }};
  CHECK(refused(complaint(bad_min), "min along axis 0"));
  const Kernel bad_product{"k",
                           [](In in, Out out) { store(out, {0, 0}, product<0>(load<R, C>(in, {0, 0}))); }};
  CHECK(refused(complaint(bad_product), "product along axis 0"));
  const Kernel filled{"k",
                      [](In in, Out out) { store(out, {0, 0}, max<1>(load<R, C>(in, {0, 0}, -INFINITY))); }};
  CHECK(complaint(filled) == "");
  const Kernel masked{"k", [](In in, Out out) {
                        auto live = expand<0>(arange<C>()) < in.extent(1);
                        auto x = load<R, C>(in, {0, 0});
                        store(out, {0, 0},
                              max<1>(select(broadcast<R, C>(live), x, full<f32, R, C>(-INFINITY))));
                      }};
  CHECK(complaint(masked) == "");
  const Kernel choice{"k", [](In in, Out out) {
                        auto x = load<R, C>(in, {0, 0});
                        store(out, {0, 0}, max<1>(select(broadcast<R, C>(in.extent(0) > 3), x, -x)));
                      }};
  CHECK(refused(complaint(choice), "max along axis 1"));
}

TEST_CASE("a sum is refused unless the function takes 0 to 0") {
  const Kernel squares{"k", [](In in, Out out) {
                         auto x = load<R, C>(in, {0, 0});
                         store(out, {0, 0}, sum<1>(x * x));
                       }};
  CHECK(complaint(squares) == "");
  const Kernel odd{"k",
                   [](In in, Out out) { store(out, {0, 0}, sum<1>(-tanh(load<R, C>(in, {0, 0})) * 2.0f)); }};
  CHECK(complaint(odd) == "");
  const Kernel exponentials{"k",
                            [](In in, Out out) { store(out, {0, 0}, sum<1>(exp(load<R, C>(in, {0, 0})))); }};
  CHECK(refused(complaint(exponentials), "what is summed is not 0 for a 0"));
  const Kernel shifted{"k",
                       [](In in, Out out) { store(out, {0, 0}, sum<1>(load<R, C>(in, {0, 0}) + 1.0f)); }};
  CHECK(refused(complaint(shifted), "sum along axis 1"));
  // Lanes beyond the end become -mean: the classic variance mistake.
  const Kernel variance{"k", [](In in, Out out) {
                          auto x = load<R, C>(in, {0, 0});
                          auto d = x - sum<1>(x) / cast<f32>(in.extent(1));
                          store(out, {0, 0}, sum<1>(d * d));
                        }};
  CHECK(refused(complaint(variance), "sum along axis 1"));
  const Kernel shifted_back{
      "k", [](In in, Out out) { store(out, {0, 0}, sum<1>(load<R, C>(in, {0, 0}) + 1.0f - 1.0f)); }};
  CHECK(complaint(shifted_back) == "");
}

TEST_CASE("dots carry what they know into their rows and columns, also around a loop") {
  const Kernel rows{"k", [](In a, In b, Out out) {
                      Var acc = zeros<f32, R, C>();
                      for (auto k : reduction(a.extent(1), K))
                        acc += dot(load<R, K>(a, {0, k}), load<K, C>(b, {k, 0}));
                      store(out, {0, 0}, sum<1>(acc));
                    }};
  CHECK(complaint(rows) == "");
  const Kernel largest{"k", [](In a, In b, Out out) {
                         Var acc = zeros<f32, R, C>();
                         for (auto k : reduction(a.extent(1), K))
                           acc += dot(load<R, K>(a, {0, k}), load<K, C>(b, {k, 0}));
                         store(out, {0, 0}, max<1>(acc));
                       }};
  CHECK(refused(complaint(largest), "max along axis 1"));
  const Kernel biased{"k", [](In a, In b, Out out) {
                        Var acc = full<f32, R, C>(1);
                        for (auto k : reduction(a.extent(1), K))
                          acc += dot(load<R, K>(a, {0, k}), load<K, C>(b, {k, 0}));
                        store(out, {0, 0}, sum<0>(acc));
                      }};
  CHECK(refused(complaint(biased), "sum along axis 0"));
  const Kernel one_side{"k", [](In a, In b, Out out) {
                          store(out, {0, 0}, dot(exp(load<R, K>(a, {0, 0})), load<K, C>(b, {0, 0})));
                        }};
  CHECK(complaint(one_side) == "");
  const Kernel neither{"k", [](In a, In b, Out out) {
                         store(out, {0, 0}, dot(exp(load<R, K>(a, {0, 0})), exp(load<K, C>(b, {0, 0}))));
                       }};
  CHECK(refused(complaint(neither), "the inner axis of this dot"));
}

TEST_CASE("state that changes around loops and branches is followed to its end") {
  const Kernel later{"k", [](In in, Out out) {
                       Var x = zeros<f32, R, C>();
                       for (auto i : range(3)) {
                         store(out, {0, i}, sum<1>(x));  // 0, then a load plus 1
                         x = load<R, C>(in, {0, i}) + 1.0f;
                       }
                     }};
  CHECK(refused(complaint(later), "sum along axis 1"));
  const Kernel branch{"k", [](In in, Out out) {
                        Var x = load<R, C>(in, {0, 0});
                        when(in.extent(0) > 3, [&] { x = exp(x); });
                        store(out, {0, 0}, sum<1>(x));
                      }};
  CHECK(refused(complaint(branch), "sum along axis 1"));
  const Kernel repeat{"k", [](In in, Out out) {
                        Var x = load<R, C>(in, {0, 0});
                        Var i = constant<i64>(0);
                        while_([&] { return i < 3; }, [&] { x = x * x, i += 1; });
                        store(out, {0, 0}, sum<1>(x));
                      }};
  CHECK(complaint(repeat) == "");
}

TEST_CASE("pointer loads are masked by their author, and so are never refused") {
  const Kernel masked{"k", [](Ptr<const f32> in, Ptr<f32> out, Scalar<i64> n) {
                        auto i = arange<C>();
                        store(out, max(load(in + i, i < n)));
                      }};
  CHECK(complaint(masked) == "");
}

}  // namespace heddle
