// The code of README.md, docs/language.md and docs/schedules.md, as one program: each block there stands here
// word for word (checked by tests/docs), and running this checks that they do what the pages say.
#include <heddle/heddle.h>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace heddle;

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);
HEDDLE_DIM(BLOCK);
HEDDLE_DIM(COLS);

// clang-format off
template <class T> const Kernel gemm{"gemm", [](View<const T, 2> a, View<const T, 2> b, View<T, 2> c) {
  auto [m, n] = tile_id<BM, BN>(c);                        // the work space: one tile of c; the schedule decides who does which, when
  Var acc = zeros<accumulator_of<T>, BM, BN>();            // the state of the reduction
  for (auto k : reduction(a.extent(1), BK))                // the loop over K, in steps of BK
    acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
  store(c, {m, n}, cast<T>(acc));
}};

const Kernel add{"add", [](Ptr<const f32> x, Ptr<const f32> y, Ptr<f32> out, Scalar<i64> n) {
  auto i = program_id(0) * BLOCK + arange<BLOCK>();
  auto live = i < n;
  store(out + i, load(x + i, live) + load(y + i, live), live);
}};

const Kernel row_softmax{"row_softmax", [](View<const f32, 2> in, View<f32, 2> out) {
  auto [row] = tile_id<1>(in.extent(0));
  auto x = load<COLS>(in, {row, 0}, -INFINITY);            // lanes beyond the row weigh nothing
  auto e = exp(x - max<0>(x));                             // max<0>(x): Tile<f32, 1>, which stretches
  store(out, {row, 0}, e / sum<0>(e));
}};

const Kernel collatz{"collatz", [](View<const i64, 1> in, View<i64, 1> steps) {
  auto [i] = tile_id<1>(in);
  Var n = sum(load<1>(in, {i}));                           // a scalar: the sum over all axes of a tile of one
  Var count = constant<i64>(0);
  while_([&] { return n > 1; }, [&] {
    when(n % 2 == 0, [&] { n = n / 2; }).otherwise([&] { n = 3 * n + 1; });
    count += 1;
  });
  store(steps, {i}, broadcast<1>(count));
}};
// clang-format on

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  ++failures;
}

void products(Stream& stream) {
  const int64_t size = 100;
  std::vector<float> a(size * size, 0.5f), b(size * size, 2.0f), c(size * size, -1.0f);
  const TensorRef<float, 2> A(a.data(), {size, size}), B(b.data(), {size, size}), C(c.data(), {size, size});
  auto right = [&] {
    bool all = true;
    for (float& value : c) all = all && value == float(size), value = -1.0f;
    return all;
  };
  // clang-format off
gemm<f32>(stream, A, B, C);                                // a schedule is chosen by rule
  expect(right(), "gemm by rule");
gemm<f32>.with({.dims = {BM = 96, BN = 64, BK = 128},      // or is yours
                .work = persistent{.workers = 4}, .order = grouped{8}})(stream, A, B, C);
  // clang-format on
  expect(right(), "gemm with a schedule");
}

void schedules() {
  // clang-format off
const Schedule tiles{.dims = {BM = 128, BN = 128, BK = 256}, .work = persistent{.workers = 4}, .order = grouped{8}};
  // clang-format on
  expect(parse_schedule("BM=128, BN=128, BK=256, work=persistent{workers=4}, order=grouped{size=8}") == tiles,
         "the text of docs/schedules.md");
  expect(
      parse_schedule(R"({"dims": {"BM": 128, "BN": 128, "BK": 256}, "work": {"persistent": {"workers": 4}}, )"
                     R"("order": {"grouped": {"size": 8}}})") == tiles,
      "the JSON of docs/schedules.md");
}

void sums(Stream& stream) {
  const int64_t n = 1000;
  std::vector<float> x(n, 1.0f), y(n, 2.0f), out(n, 0.0f);
  // clang-format off
add.with({.dims = {BLOCK = 256}}).grid(ceil_div(n, 256))(stream, x.data(), y.data(), out.data(), n);
  // clang-format on
  bool right = true;
  for (float value : out) right = right && value == 3.0f;
  expect(right, "add");
}

void rows(Stream& stream) {
  std::vector<float> in(3 * 50, 1.0f), out(3 * 50, 0.0f);
  row_softmax(stream, TensorRef<float, 2>(in.data(), {3, 50}), TensorRef<float, 2>(out.data(), {3, 50}));
  bool right = true;
  for (float value : out) right = right && std::fabs(value - 0.02f) < 1e-8f;
  expect(right, "row_softmax");
}

void loops(Stream& stream) {
  std::vector<int64_t> in = {1, 6, 7, 27}, steps(4, -1);
  collatz(stream, TensorRef<int64_t, 1>(in.data(), {4}), TensorRef<int64_t, 1>(steps.data(), {4}));
  expect(steps == std::vector<int64_t>{0, 8, 16, 111}, "collatz");
}

}  // namespace

int main() {
  try {
    for (Device device : {Device::cpu(), Device::interpreter()}) {
      Stream stream(device);
      products(stream);
      sums(stream);
      rows(stream);
      loops(stream);
    }
    schedules();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return failures ? 1 : 0;
}
