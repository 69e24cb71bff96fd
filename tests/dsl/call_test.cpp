// Kernels written in the surface and called: from many threads, under hostile names, over no elements, with
// shapes that don't fit together.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "dsl/heddle.h"
#include "dsl/trace.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace heddle {
namespace {

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);
HEDDLE_DIM(BK);

const Kernel increment{"increment", [](View<const f32, 1> a, View<f32, 1> c) {
                         auto [m] = tile_id<BM>(c);
                         store(c, {m}, load<BM>(a, {m}) + 1.0f);
                       }};
const Kernel powers{"powers", [](View<const f32, 1> a, View<f32, 1> c) {
                      auto [m] = tile_id<BM>(c);
                      Var x = load<BM>(a, {m});
                      for (int i = 0; i < 20; ++i) {  // unrolls, so that traces overlap
                        auto square = x * x;
                        x = square - x;
                      }
                      for (auto i : range(3)) when(i < 2, [&] { x += 1; });
                      store(c, {m}, x);
                    }};
const Kernel product{"product", [](View<const f32, 2> a, View<const f32, 2> b, View<f32, 2> c) {
                       auto [m, n] = tile_id<BM, BN>(c);
                       Var acc = zeros<f32, BM, BN>();
                       for (auto k : reduction(a.extent(1), BK))
                         acc += dot(load<BM, BK>(a, {m, k}), load<BK, BN>(b, {k, n}));
                       store(c, {m, n}, acc);
                     }};

TensorRef<float, 1> view_of(std::vector<float>& memory) {
  return {memory.data(), {int64_t(memory.size())}};
}

// Runs a kernel of BM-tiles that adds one.
template <class K>
bool adds_one(const K& kernel, Stream& stream, int64_t tile = 16) {
  std::vector<float> a(100), c(100, -1.0f);
  for (size_t i = 0; i < a.size(); ++i) a[i] = float(i);
  kernel.with({.dims = {BM = tile}})(stream, view_of(a), view_of(c));
  for (size_t i = 0; i < a.size(); ++i)
    if (c[i] != a[i] + 1) return false;
  return true;
}

template <class F>
void on_threads(int count, F&& run) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&run, i] { run(i); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("the same and different kernels are traced on 8 threads at once") {
  const Dims dims = {BM = 16};
  const std::string expected[] = {ir::print(*trace(increment, dims)), ir::print(*trace(powers, dims))};
  REQUIRE(expected[0] != expected[1]);
  std::atomic<int> wrong{0};
  on_threads(8, [&](int thread) {
    for (int i = 0; i < 40; ++i) {
      const bool first = thread < 4 ? thread % 2 == 0 : i % 2 == 0;
      const std::string text = first ? ir::print(*trace(increment, dims)) : ir::print(*trace(powers, dims));
      wrong += text != expected[first ? 0 : 1];
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("threads that trace and launch one kernel at once get right results") {
  std::atomic<int> wrong{0};
  on_threads(8, [&](int thread) {
    Stream stream(Device::interpreter());
    for (int i = 0; i < 4; ++i) wrong += !adds_one(increment, stream, 8 << (thread + i) % 3);
  });
  CHECK(wrong == 0);
}

// ---- Names

namespace {

// A kernel's name is an array of characters; this one holds what the test wants.
constexpr int kLong = 10000;
struct LongName {
  char text[kLong + 1] = {};
  constexpr LongName() {
    for (int i = 0; i < kLong; ++i) text[i] = "ab/.\"\n"[i % 6];
  }
};
constexpr LongName kLongName;

constexpr auto kBody = [](View<const f32, 1> a, View<f32, 1> c) {
  auto [m] = tile_id<BM>(c);
  store(c, {m}, load<BM>(a, {m}) + 1.0f);
};
const Kernel nameless{"", kBody};
const Kernel quotes{"\"'`$(touch x)\\", kBody};
const Kernel newline{"two\nlines\r\t\x01\x7f", kBody};
const Kernel slashes{"../../../etc/passwd", kBody};
const Kernel dots{"..", kBody};
const Kernel utf8{"Δ-ядро-核", kBody};
const Kernel broken_utf8{"\xff\xfe\xc0\x80", kBody};
const Kernel percent{"%s%n{}{0}", kBody};
const Kernel very_long{kLongName.text, kBody};

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old, had_ = true;
    setenv(name, value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  ~Environment() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

// Whether a file's name needs no care: short, and of characters that no shell or terminal takes for more.
bool is_plain(const std::string& file) {
  return file.size() < 255 &&
         std::all_of(
             file.begin(), file.end(),
             [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-' || c == '.'; });
}

template <class K>
void check_name(const K& kernel, const std::filesystem::path& dumps) {
  const std::string name = kernel.source().name;
  CAPTURE(name.substr(0, 40));
  const Dims dims = {BM = 16};
  const std::string text = ir::print(*trace(kernel, dims));
  const auto again = ir::parse(text);
  CHECK(again->name == name);
  CHECK(ir::print(*again) == text);
  for (Device device : {Device::cpu(), Device::interpreter()}) {
    Stream stream(device);
    CHECK(adds_one(kernel, stream));
    const std::filesystem::path cached = runtime::last_launch().cache_path;  // empty for the interpreter
    CHECK(is_plain(cached.filename().string()));
    CHECK(cached.lexically_normal() == cached);
  }
  // A message with the name in it.
  const Dims unused = {BM = 16, BN = 16};
  CHECK_THROWS_AS(trace(kernel, unused), Error);
  for (const auto& path : test::files_below(dumps)) {
    CHECK(path.parent_path() == dumps);
    CHECK(is_plain(path.filename().string()));
  }
}

}  // namespace

TEST_CASE("any text is a kernel's name") {
  const test::TemporaryFolder folder;
  const Environment stages("HEDDLE_DUMP", "canonical,scheduled");
  const Environment place("HEDDLE_DUMP_DIR", (folder.path() / "dumps").string());
  const std::filesystem::path dumps = folder.path() / "dumps";
  check_name(nameless, dumps);
  check_name(quotes, dumps);
  check_name(newline, dumps);
  check_name(slashes, dumps);
  check_name(dots, dumps);
  check_name(utf8, dumps);
  check_name(broken_utf8, dumps);
  check_name(percent, dumps);
  check_name(very_long, dumps);
  CHECK(test::files_below(folder.path()).size() >= 18);
}

// ---- Shapes

namespace {

// c = a b, by the definition, where what lies outside of either is 0.
std::vector<float> reference(const std::vector<float>& a, const std::vector<float>& b, int64_t m, int64_t n,
                             int64_t ka, int64_t kb) {
  std::vector<float> c(size_t(m * n), 0.0f);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < std::min(ka, kb); ++k) c[i * n + j] += a[i * ka + k] * b[k * n + j];
  return c;
}

std::vector<float> numbers(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = float(int(i * 7 % 11) - 5);
  return values;
}

std::vector<float> run_product(Stream& stream, std::vector<float> a, std::vector<float> b, int64_t m,
                               int64_t n, int64_t ka, int64_t kb, const Schedule* schedule) {
  std::vector<float> c(size_t(m * n), -1.0f);
  const TensorRef<float, 2> A(a.data(), {m, ka}), B(b.data(), {kb, n}), C(c.data(), {m, n});
  if (schedule)
    product.with (*schedule)(stream, A, B, C);
  else
    product(stream, A, B, C);
  return c;
}

}  // namespace

TEST_CASE("a product whose K differs between its operands reads zeros beyond the shorter one") {
  const Schedule schedule{.dims = {BM = 8, BN = 16, BK = 8}};
  for (Device device : {Device::cpu(), Device::interpreter()}) {
    Stream stream(device, 2);
    for (const auto& [ka, kb] :
         {std::pair<int64_t, int64_t>{20, 20}, {20, 13}, {13, 20}, {8, 9}, {9, 8}, {5, 0}, {0, 5}}) {
      CAPTURE(ka);
      CAPTURE(kb);
      const int64_t m = 11, n = 19;
      const std::vector<float> a = numbers(m * ka), b = numbers(kb * n);
      const std::vector<float> expected = reference(a, b, m, n, ka, kb);
      CHECK(run_product(stream, a, b, m, n, ka, kb, &schedule) == expected);
      CHECK(run_product(stream, a, b, m, n, ka, kb, nullptr) == expected);
    }
  }
}

TEST_CASE("no rows, no columns, no K") {
  const Schedule schedule{.dims = {BM = 8, BN = 16, BK = 8}};
  for (Device device : {Device::cpu(), Device::interpreter()}) {
    Stream stream(device, 2);
    for (const Schedule* given : {static_cast<const Schedule*>(nullptr), &schedule}) {
      CHECK(run_product(stream, numbers(0), numbers(30), 0, 5, 6, 6, given).empty());
      CHECK(run_product(stream, numbers(30), numbers(0), 5, 0, 6, 6, given).empty());
      CHECK(run_product(stream, {}, {}, 0, 0, 0, 0, given).empty());
      CHECK(run_product(stream, {}, {}, 3, 4, 0, 0, given) == std::vector<float>(12, 0.0f));
    }
    std::vector<float> none;
    increment(stream, view_of(none), view_of(none));
  }
}

// ---- Bodies of little

namespace {

const Kernel idle{"idle", [](View<const f32, 1> a) {
                    auto [m] = tile_id<BM>(a);
                    auto x = load<BM>(a, {m}) + 1.0f;
                    (void)x;
                  }};
const Kernel empty{"empty", [] {}};
const Kernel both{"both", [](View<f32, 1> c) {
                    auto [m] = tile_id<BM>(c);
                    store(c, {m + program_id(0)}, zeros<f32, BM>());
                  }};

}  // namespace

TEST_CASE("bodies that store nothing run and write nothing") {
  for (Device device : {Device::cpu(), Device::interpreter()}) {
    Stream stream(device, 2);
    std::vector<float> a(100, 3.0f);
    idle.with({.dims = {BM = 16}})(stream, view_of(a));
    idle(stream, view_of(a));
    CHECK(a == std::vector<float>(100, 3.0f));
    empty.grid(2)(stream);
    empty(stream);
  }
}

TEST_CASE("tile_id and program_id together are refused") {
  Stream stream(Device::interpreter());
  std::vector<float> c(10, 1.0f);
  for (const bool grid : {false, true}) {
    try {
      const auto call = both.with({.dims = {BM = 16}});
      grid ? call.grid(1)(stream, view_of(c)) : call(stream, view_of(c));
      CHECK_MESSAGE(false, "accepted");
    } catch (const Error& error) {
      CHECK(std::string(error.message()).find("asks both tile_id and program_id") != std::string::npos);
      CHECK(std::string(error.where().file) == __FILE__);
    }
  }
  CHECK(c == std::vector<float>(10, 1.0f));
}

TEST_CASE("a body of many thousand ops, each on the one before") {
  const Kernel chain{"chain", [](View<const f32, 1> a, View<f32, 1> c) {
                       auto [m] = tile_id<BM>(c);
                       auto x = load<BM>(a, {m});
                       Var y = x;
                       for (int i = 0; i < 10000; ++i) y = y * x + x;
                       store(c, {m}, y);
                     }};
  std::vector<float> in(10), expected(10), found(10);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 0.09f * float(i) - 0.4f;
  const Schedule schedule{.dims = {BM = 16}};
  Stream interpreter(Device::interpreter()), cpu(Device::cpu());
  chain.with(schedule)(interpreter, TensorRef<const f32, 1>(in.data(), {10}), view_of(expected));
  chain.with(schedule)(cpu, TensorRef<const f32, 1>(in.data(), {10}), view_of(found));
  CHECK(found == expected);
}

}  // namespace heddle
