// What a body records depends on what it computes, not on how its C++ is spelled; Vars are read where they
// are written; every op knows the user's line.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "codegen/compile.h"
#include "codegen/ir/print.h"
#include "dsl/heddle.h"
#include "dsl/trace.h"

namespace heddle {
namespace {

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);

const Dims kTile = {BM = 16, BN = 32};
const Dims kDims = {BM = 16, BN = 32, BK = 8};

// As traced.
template <class K>
std::string text_of(const K& kernel, const Dims& dims) {
  return ir::print(*trace(kernel, dims));
}

// As canonical tile IR, where the order of independent operations no longer shows: C++ leaves it to the
// compiler which operand of + is evaluated first.
template <class K>
std::string canonical_text_of(const K& kernel, const Dims& dims) {
  return ir::print(codegen::TracedKernel::analyse(trace(kernel, dims))->function());
}

int count(std::string_view text, std::string_view word) {
  int found = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++found;
  return found;
}

// ---- One computation, three spellings

const Kernel gated_nested{
    "gated", [](View<const f32, 2> a, View<const f32, 2> b, View<f32, 2> c) {
      auto [m, n] = tile_id<BM, BN>(c);
      store(c, {m, n},
            select(load<BM, BN>(a, {m, n}) > 0, load<BM, BN>(a, {m, n}) * 2.0f, -load<BM, BN>(b, {m, n})) +
                sigmoid(load<BM, BN>(b, {m, n})));
    }};
const Kernel gated_auto{"gated", [](View<const f32, 2> a, View<const f32, 2> b, View<f32, 2> c) {
                          auto [m, n] = tile_id<BM, BN>(c);
                          auto condition = load<BM, BN>(a, {m, n}) > 0;
                          auto twice = load<BM, BN>(a, {m, n}) * 2.0f;
                          auto minus = -load<BM, BN>(b, {m, n});
                          auto chosen = select(condition, twice, minus);
                          auto gate = sigmoid(load<BM, BN>(b, {m, n}));
                          auto result = chosen + gate;
                          store(c, {m, n}, result);
                        }};
const Kernel gated_typed{"gated", [](View<const f32, 2> a, View<const f32, 2> b, View<f32, 2> c) {
                           auto [m, n] = tile_id<BM, BN>(c);
                           const Tile<f32, BM, BN> x = load<BM, BN>(a, {m, n});
                           const Tile<i1, BM, BN> condition = x > 0;
                           const Tile<f32, BM, BN> twice = load<BM, BN>(a, {m, n}) * 2.0f;
                           const Tile<f32, BM, BN> y = load<BM, BN>(b, {m, n});
                           const Tile<f32, BM, BN> minus = -y;
                           const Tile<f32, BM, BN> chosen = select(condition, twice, minus);
                           const Tile<f32, BM, BN> gate = sigmoid(load<BM, BN>(b, {m, n}));
                           const Tile<f32, BM, BN> result = chosen + gate;
                           store(c, {m, n}, result);
                         }};

// With one operand that is an operation at a time, C++ leaves no choice of order.
const Kernel chain_nested{"chain", [](View<const f32, 2> a, View<f32, 2> c) {
                            auto [m, n] = tile_id<BM, BN>(c);
                            store(c, {m, n}, exp(-(load<BM, BN>(a, {m, n}) * 3.0f)) + 1.0f);
                          }};
const Kernel chain_auto{"chain", [](View<const f32, 2> a, View<f32, 2> c) {
                          auto [m, n] = tile_id<BM, BN>(c);
                          auto x = load<BM, BN>(a, {m, n});
                          auto thrice = x * 3.0f;
                          auto minus = -thrice;
                          auto power = exp(minus);
                          auto result = power + 1.0f;
                          store(c, {m, n}, result);
                        }};
const Kernel chain_typed{"chain", [](View<const f32, 2> a, View<f32, 2> c) {
                           auto [m, n] = tile_id<BM, BN>(c);
                           Tile<f32, BM, BN> x = load<BM, BN>(a, {m, n});
                           Tile<f32, BM, BN> thrice = x * 3.0f;
                           Tile<f32, BM, BN> minus = -thrice;
                           Tile<f32, BM, BN> power = exp(minus);
                           Tile<f32, BM, BN> result = power + 1.0f;
                           store(c, {m, n}, result);
                         }};

template <class X>
auto doubled(const X& x) {
  return x + x;
}

const Kernel gemm_nested{"product", [](View<const f16, 2> a, View<const f16, 2> b, View<f16, 2> c) {
                           auto [m, n] = tile_id<BM, BN>(c);
                           Var acc = zeros<f32, BM, BN>();
                           for (auto k : reduction(a.extent(1), BK))
                             acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
                           store(c, {m, n}, cast<f16>(doubled(acc)));
                         }};
const Kernel gemm_typed{"product", [](View<const f16, 2> a, View<const f16, 2> b, View<f16, 2> c) {
                          auto [m, n] = tile_id<BM, BN>(c);
                          Var<f32, BM, BN> acc = zeros<f32, BM, BN>();
                          auto extent = a.extent(1);
                          for (Scalar<i64> k : reduction(extent, BK)) {
                            auto left = load<BM, BK>(a, {m, k});
                            Tile<f16, BK, BN> right = load<BK, BN>(b, {k, n});
                            auto product = dot(left, right);
                            acc = acc + product;
                          }
                          const Tile<f32, BM, BN> sum = acc;
                          auto twice = sum + sum;
                          Tile<f16, BM, BN> narrow = cast<f16>(twice);
                          store(c, {m, n}, narrow);
                        }};

}  // namespace

TEST_CASE("nested, auto-named and typed-name spellings record the same") {
  CHECK(text_of(chain_auto, kTile) == text_of(chain_nested, kTile));
  CHECK(text_of(chain_typed, kTile) == text_of(chain_nested, kTile));
  CHECK(text_of(chain_nested, kTile).find("exp") != std::string::npos);
  CHECK(text_of(gated_typed, kTile) == text_of(gated_auto, kTile));
  CHECK(canonical_text_of(gated_auto, kTile) == canonical_text_of(gated_nested, kTile));
  CHECK(canonical_text_of(gated_typed, kTile) == canonical_text_of(gated_nested, kTile));
  CHECK(canonical_text_of(gemm_typed, kDims) == canonical_text_of(gemm_nested, kDims));
}

TEST_CASE("a trace is repeatable, and dims are told apart by place and not by name") {
  CHECK(text_of(gemm_nested, kDims) == text_of(gemm_nested, kDims));
  CHECK(text_of(gemm_nested, {BK = 8, BN = 32, BM = 16}) == text_of(gemm_nested, kDims));
  CHECK(text_of(gemm_nested, {BM = 16, BN = 32, BK = 4}) != text_of(gemm_nested, kDims));
  CHECK(text_of(gemm_nested, kDims).find("BM") == std::string::npos);
}

// ---- Vars

namespace {

// What the kernel stores to its `count` numbers, in one run of the interpreter.
template <class K>
std::vector<int64_t> run(const K& kernel, size_t count) {
  Stream stream(Device::interpreter());
  std::vector<int64_t> out(count, -1);
  kernel.grid(1)(stream, out.data());
  return out;
}

const Kernel reads{"reads", [](Ptr<i64> out) {
                     Var x = constant<i64>(1);
                     auto before = x + 0;    // reads 1, here
                     auto same = Tile(x);    // so does this
                     Scalar<i64> typed = x;  // and this
                     x = 5;
                     store(out, before);
                     store(out + 1, same);
                     store(out + 2, typed);
                     store(out + 3, x);
                   }};

const Kernel copies{"copies", [](Ptr<i64> out) {
                      Var x = constant<i64>(7);
                      Var y = x;
                      auto z = y;  // a Var again
                      x += 1;
                      y -= 2;
                      z *= 3;
                      store(out, x);
                      store(out + 1, y);
                      store(out + 2, z);
                    }};

const Kernel compound{"compound", [](Ptr<i64> out) {
                        Var x = constant<i64>(100);
                        x += 5, store(out, x);
                        x -= 1, store(out + 1, x);
                        x *= 2, store(out + 2, x);
                        x /= 3, store(out + 3, x);
                        x %= 50, store(out + 4, x);
                        x <<= 2, store(out + 5, x);
                        x >>= 1, store(out + 6, x);
                        x &= 27, store(out + 7, x);
                        x |= 4, store(out + 8, x);
                        x ^= 1, store(out + 9, x);
                        x += x, store(out + 10, x);
                        x = x * x - x, store(out + 11, x);
                      }};

const Kernel swaps{"swaps", [](Ptr<i64> out) {
                     Var a = constant<i64>(3);
                     Var b = constant<i64>(4);
                     auto old = a + 0;
                     a = b;
                     b = old;
                     for (auto i : range(3)) {
                       when(i == 1, [&] { a += 10; }).otherwise([&] { b += 100; });
                       a += i;
                     }
                     store(out, a);
                     store(out + 1, b);
                   }};

}  // namespace

TEST_CASE("a Var is read where it is written, and a copy is a variable of its own") {
  CHECK(run(reads, 4) == std::vector<int64_t>{1, 1, 1, 5});
  CHECK(run(copies, 3) == std::vector<int64_t>{8, 5, 21});
  CHECK(run(swaps, 2) == std::vector<int64_t>{4 + 10 + 3, 3 + 200});
  CHECK(count(text_of(copies, {}), "= variable") == 3);
}

TEST_CASE("compound assignments") {
  std::vector<int64_t> expected;
  int64_t x = 100;
  for (const int64_t value : {x += 5, x -= 1, x *= 2, x /= 3, x %= 50, x <<= 2, x >>= 1, x &= 27, x |= 4,
                              x ^= 1, x += x, x = x * x - x})
    expected.push_back(value);
  CHECK(run(compound, expected.size()) == expected);
}

// ---- Places

namespace {

// Checks every op's place, and returns how many ops there are.
int check_places(const ir::Function& function, uint32_t first, uint32_t last) {
  int ops = 0;
  ir::walk(function.body, [&](const ir::Op* op) {
    ++ops;
    REQUIRE(op->where.known());
    const std::string_view file = op->where.file;
    CHECK(file == __FILE__);
    CHECK(op->where.line >= first);
    CHECK(op->where.line <= last);
  });
  return ops;
}

constexpr uint32_t kFirst = __LINE__;
const Kernel everything{"everything", [](View<const f32, 2> a, View<f32, 2> c, Ptr<const i32> p, Ptr<i32> q,
                                         Scalar<f32> scale, Scalar<i64> n) {
                          auto [m, k] = tile_id<BM, BN>(c);
                          auto x = load<BM, BN>(a, {m, k}, 1.0f);
                          Var v = x * scale + 1.0f;
                          v += x;
                          v = 2.0f * v - max(x, v) / 3.0f;
                          auto w = fma(x, x, min(x, 0.0f));
                          auto y = expand<0>(sum<1>(exp(w))) + sum(w);
                          v += squeeze<0>(y);
                          v = select(x < w, x, transpose(transpose(w)));
                          auto i = arange<BM>() + m.index() * BM + BM.value();
                          auto live = (i < n) & !(i == 3) & (ceil_div(n, BM) > 1);
                          auto z = load(p + i, live, 7);
                          store(q + i, -z % 3, live);
                          store(q - 1 + i, bitcast<i32>(cast<f32>(z)), live);
                          for (auto s : range(0, n, 2)) v += cast<f32>(s + c.stride(0));
                          for (auto s : reduction(a.extent(1), BN)) v += cast<f32>(s.index());
                          when(n > 3, [&] { v *= 2.0f; }).otherwise([&] { v = 0.0f; });
                          while_([&] { return max(v) > 9.0f; }, [&] { v /= 2.0f; });
                          v += full<f32, BM, BN>(scale) + broadcast<BM, BN>(scale);
                          auto square = dot(v, transpose(v));
                          store(c, {m, k}, v + sum<1>(square));
                        }};
constexpr uint32_t kLast = __LINE__;

}  // namespace

TEST_CASE("every op names the user's file and a line of the body") {
  const auto function = trace(everything, {BM = 16, BN = 16});
  CHECK(check_places(*function, kFirst, kLast) > 80);
}

}  // namespace heddle
