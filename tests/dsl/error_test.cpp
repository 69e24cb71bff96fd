// Rules of the language that show only while a body is recorded: each broken one is an Error with its kind, a
// sentence, and the user's line; and the next trace works.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "codegen/ir/print.h"
#include "dsl/heddle.h"
#include "dsl/trace.h"

namespace heddle {
namespace {

HEDDLE_DIM(BM);
HEDDLE_DIM(BN);

const Kernel sound{"sound", [](View<const f32, 1> a, View<f32, 1> c) {
                     auto [m] = tile_id<BM>(c);
                     store(c, {m}, load<BM>(a, {m}) + 1.0f);
                   }};

std::string sound_text() {
  const Dims dims = {BM = 16};
  return ir::print(*trace(sound, dims));
}

// What tracing `kernel` complains of, which must be of `kind` and lie on `line` of this file; afterwards
// another trace must work.
template <class K>
std::string complaint(const K& kernel, const Dims& dims, ErrorKind kind, uint32_t line) {
  static const std::string expected = sound_text();
  std::string message = "(accepted)";
  try {
    trace(kernel, dims);
  } catch (const Error& error) {
    message = error.message();
    CHECK(to_string(error.kind()) == std::string(to_string(kind)));
    CHECK(std::string(error.where().file) == __FILE__);
    CHECK(error.where().line == line);
    CHECK(std::string(error.what()).starts_with(std::string(__FILE__) + ":" + std::to_string(line) + ":"));
  }
  CHECK(sound_text() == expected);
  return message;
}

bool mentions(const std::string& message, const std::string& words) {
  if (message.find(words) != message.npos) return true;
  MESSAGE(message);
  return false;
}

std::string here(uint32_t line) {
  return std::string(__FILE__) + ":" + std::to_string(line);
}

// clang-format off
constexpr uint32_t kInexact = __LINE__ + 3;
const Kernel inexact{"inexact", [](View<f32, 1> c) {
  auto [m] = tile_id<BM>(c);
  store(c, {m}, load<BM>(c, {m}) * 0.1);
}};
constexpr uint32_t kTooBig = __LINE__ + 3;
const Kernel too_big{"too_big", [](View<i8, 1> c) {
  auto [m] = tile_id<BM>(c);
  store(c, {m}, load<BM>(c, {m}) + 300);
}};

constexpr uint32_t kNested = __LINE__ + 8;
int nesting = 0;
const Kernel nested{"nested", [](View<f32, 1> c) {
  auto [m] = tile_id<BM>(c);
  Var x = zeros<f32, BM>();
  auto nest = [&](auto& self, int depth) -> void {
    if (depth == 0) x += 1;
    else
      when(c.extent(0) > depth, [&] { self(self, depth - 1); });
  };
  nest(nest, nesting);
  store(c, {m}, x);
}};

constexpr uint32_t kAxis = __LINE__ + 2;
const Kernel axis{"axis", [](View<f32, 2> c) {
  auto [m] = tile_id<BM>(c.extent(2));
  store(c, {m, 0}, load<BM>(c, {m, 0}));
}};
constexpr uint32_t kFixedAxis = __LINE__ + 2;
const Kernel fixed_axis{"fixed_axis", [](View<f32, 2> c) {
  auto [m] = tile_id<BM>(c[0].stride(1));
  store(c, {m, 0}, load<BM>(c, {m, 0}));
}};

constexpr uint32_t kTwo = __LINE__ + 3;
const Kernel two_spaces{"two_spaces", [](View<f32, 1> c) {
  auto [m] = tile_id<BM>(c);
  auto [n] = tile_id<BM>(c);
  store(c, {m}, load<BM>(c, {n}));
}};
constexpr uint32_t kInLoop = __LINE__ + 3;
const Kernel space_in_loop{"space_in_loop", [](View<f32, 1> c) {
  for (auto i : range(3)) {
    auto [m] = tile_id<BM>(c);
    store(c, {m + i}, zeros<f32, BM>());
  }
}};

constexpr uint32_t kBreak = __LINE__ + 2;
const Kernel broken_off{"broken_off", [](View<f32, 1> c) {
  for (auto i : range(3)) {
    store(c, {i}, zeros<f32, BM>());
    break;
  }
  store(c, {0}, zeros<f32, BM>());
}};
constexpr uint32_t kReturn = __LINE__ + 2;
const Kernel returned{"returned", [](View<f32, 1> c) {
  for (auto i : range(3)) {
    store(c, {i}, zeros<f32, BM>());
    return;
  }
}};
constexpr uint32_t kCaught = __LINE__ + 3;
const Kernel caught{"caught", [](View<f32, 1> c) {
  try {
    when(c.extent(0) > 3, [&] {
      for (auto i : range(3)) {
        store(c, {i}, zeros<f32, BM>());
        throw std::runtime_error("from the body");
      }
    });
  } catch (const std::runtime_error&) {
  }
}};
const Kernel thrown{"thrown", [](View<f32, 1> c) {
  for (auto i : range(3)) {
    store(c, {i}, zeros<f32, BM>());
    throw std::runtime_error("from the body");
  }
}};

constexpr uint32_t kWhen = __LINE__ + 4;
const Kernel escapes{"escapes", [](View<f32, 1> c) {
  auto [m] = tile_id<BM>(c);
  Tile<f32, BM>* inner = nullptr;
  when(m > 0, [&] {
    static Tile<f32, BM>* made = nullptr;
    delete made;
    made = new Tile<f32, BM>(load<BM>(c, {m}));
    inner = made;
  });
  store(c, {m}, *inner);
}};
constexpr uint32_t kLoop = __LINE__ + 4;
const Kernel variable_escapes{"variable_escapes", [](View<f32, 1> c) {
  auto [m] = tile_id<BM>(c);
  static Var<f32, BM>* inner = nullptr;
  for (auto i : range(2)) {
    delete inner;
    inner = new Var<f32, BM>(load<BM>(c, {m + i}));
  }
  store(c, {m}, *inner);
}};

Var<i64>* other_kernels = nullptr;
const Kernel lends{"lends", [](View<i64, 1> c) {
  static Var x = c.extent(0);
  other_kernels = &x;
  store(c, {0}, full<i64, BM>(3));
}};
constexpr uint32_t kBorrowed = __LINE__ + 2;
const Kernel borrows{"borrows", [](View<i64, 1> c) {
  store(c, {0}, full<i64, BM>(*other_kernels));
}};

constexpr uint32_t kLaunch = __LINE__ + 4;
const Kernel launches{"launches", [](View<f32, 1> c) {
  Stream stream(Device::interpreter());
  float x = 0;
  sound.with({.dims = {BM = 16}})(stream, TensorRef<const float, 1>(&x, {1}), TensorRef<float, 1>(&x, {1}));
  store(c, {0}, zeros<f32, BM>());
}};

constexpr uint32_t kUnbound = __LINE__ + 3;
const Kernel two_dims{"two_dims", [](View<f32, 2> c) {
  auto [m] = tile_id<BM>(c.extent(0));
  store(c, {m, 0}, zeros<f32, BM, BN>());
}};
constexpr uint32_t kOtherwise = __LINE__ + 5;
const Kernel late_otherwise{"late_otherwise", [](View<f32, 1> c) {
  Var x = zeros<f32, BM>();
  auto branch = when(c.extent(0) > 3, [&] { x += 1; });
  x += 2;
  branch.otherwise([&] { x += 3; });
  store(c, {0}, x);
}};
constexpr uint32_t kStep = __LINE__ + 3;
const Kernel stands_still{"stands_still", [](View<f32, 1> c) {
  Var x = zeros<f32, BM>();
  for (auto i : range(0, c.extent(0), 0)) x += cast<f32>(i);
  store(c, {0}, x);
}};
constexpr uint32_t kGrid = __LINE__ + 2;
const Kernel grid_axis{"grid_axis", [](View<f32, 1> c) {
  store(c, {program_id(3)}, zeros<f32, BM>());
}};
// clang-format on

}  // namespace

TEST_CASE("a literal that the tile's element type does not hold") {
  CHECK(complaint(inexact, {BM = 16}, ErrorKind::trace, kInexact) ==
        "0.1 is no f32 number, and a literal beside a tile must be exact: write 0.1f, or constant<f32>(0.1), "
        "which rounds to 0.100000001");
  CHECK(complaint(too_big, {BM = 16}, ErrorKind::trace, kTooBig) ==
        "300 does not fit i8, which holds integers from -128 to 127");
}

TEST_CASE("an axis that the view or the grid lacks") {
  CHECK(complaint(axis, {BM = 16}, ErrorKind::trace, kAxis) ==
        "extent(2): the view has rank 2, so its axes are 0 to 1");
  CHECK(complaint(fixed_axis, {BM = 16}, ErrorKind::trace, kFixedAxis) ==
        "stride(1): the view has rank 1, so its axes are 0 to 0");
  CHECK(complaint(grid_axis, {BM = 16}, ErrorKind::trace, kGrid) ==
        "program_id(3): a launch grid has the axes 0, 1 and 2");
}

TEST_CASE("branches that nest deeper than whatever walks them could follow") {
  nesting = 200;
  CHECK(trace(nested, Dims{BM = 16}) != nullptr);
  for (const int depth : {201, 100000}) {
    nesting = depth;
    CHECK(mentions(complaint(nested, {BM = 16}, ErrorKind::trace, kNested), "nest more than 200 deep"));
  }
}

TEST_CASE("dims that are unbound, unused, bound twice, too many or no extent") {
  const std::string unbound = complaint(two_dims, {BM = 16}, ErrorKind::schedule, kUnbound);
  CHECK(mentions(unbound, "kernel 'two_dims' uses BN"));
  CHECK(mentions(unbound, "it binds BM = 16"));
  CHECK(mentions(unbound, "add BN = ... to its dims"));
  CHECK(mentions(complaint(sound, {BM = 16, BN = 32}, ErrorKind::schedule, __LINE__),
                 "the schedule binds BN = 32, but kernel 'sound'"));
  CHECK(mentions(complaint(sound, {BM = 16, BM = 32}, ErrorKind::schedule, __LINE__),
                 "BM is bound twice: to 32 here and to 16 at " + here(__LINE__ - 1)));
  for (const int64_t value : {int64_t(0), int64_t(-1), INT64_MIN, (int64_t(1) << 20) + 1, INT64_MAX})
    CHECK(complaint(sound, {BM = value}, ErrorKind::schedule, __LINE__) ==
          "BM = " + std::to_string(value) + " is no extent of a tile: bind it between 1 and 1048576");
  CHECK(mentions(complaint(two_dims, {BM = 1024, BN = 1025}, ErrorKind::trace, kUnbound),
                 "a tile of 1024 x 1025 elements is too large"));
  CHECK(trace(two_dims, Dims{BM = 1024, BN = 1024}) != nullptr);
}

TEST_CASE("a schedule of more dims than there may be") {
  Dims dims;
  for (int i = 0; i < 25; ++i) dims.add(BM = 16);
  const runtime::TraceRequest request{
      .dims = &dims, .unbound_dim_value = 0, .facts = nullptr, .schedule_where = {"caller.cpp", 5}};
  try {
    trace(sound.source(), request);
    CHECK_MESSAGE(false, "accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::schedule);
    CHECK(std::string(error.where().file) == "caller.cpp");
    CHECK(error.message() ==
          std::string("kernel 'sound': the schedule binds 25 dims, and at most 24 can be"));
  }
}

TEST_CASE("a loop or branch that is left early") {
  for (int i = 0; i < 2; ++i) {
    CHECK(mentions(complaint(broken_off, {BM = 16}, ErrorKind::trace, kBreak), "was left by break"));
    CHECK(mentions(complaint(returned, {BM = 16}, ErrorKind::trace, kReturn), "was left by break, return"));
    CHECK(mentions(complaint(caught, {BM = 16}, ErrorKind::trace, kCaught + 1), "or an exception"));
    const Dims dims = {BM = 16};
    CHECK_THROWS_WITH_AS(trace(thrown, dims), "from the body", std::runtime_error);
    CHECK(sound_text() == sound_text());
  }
}

TEST_CASE("what lives inside a loop or branch and is used outside is reported with both lines") {
  CHECK(complaint(escapes, {BM = 16}, ErrorKind::trace, kWhen + 6) ==
        "the value made at " + here(kWhen + 3) + " lives inside the when at " + here(kWhen) +
            " and is used outside of it: carry it out in a Var that is declared before");
  CHECK(complaint(variable_escapes, {BM = 16}, ErrorKind::trace, kLoop + 4) ==
        "the Var declared at " + here(kLoop + 2) + " lives inside the loop at " + here(kLoop) +
            " and is used outside of it: declare it before");
}

TEST_CASE("values of another kernel, and operations outside of any") {
  const Dims dims = {BM = 16};
  CHECK(trace(lends, dims) != nullptr);
  CHECK(mentions(complaint(borrows, dims, ErrorKind::trace, kBorrowed), "belongs to another kernel's trace"));
  for (int which = 0; which < 3; ++which) {
    uint32_t line = 0;
    try {
      if (which == 0) line = __LINE__, (void)zeros<f32, BM>();
      if (which == 1) line = __LINE__, (void)BM.value();
      if (which == 2) line = __LINE__, (void)(*other_kernels + 1);
      CHECK_MESSAGE(false, "accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::trace);
      CHECK(error.where().line == line);
      CHECK(mentions(error.message(), "no kernel is being traced on this thread"));
    }
  }
}

TEST_CASE("a launch inside a body") {
  CHECK(mentions(complaint(launches, {BM = 16}, ErrorKind::trace, kLaunch),
                 "kernel 'sound' is called from the body of another kernel"));
}

TEST_CASE("the work space: one, outside of loops") {
  CHECK(complaint(two_spaces, {BM = 16}, ErrorKind::trace, kTwo) ==
        "a kernel has one work space, and tile_id was called before, at " + here(kTwo - 1));
  CHECK(mentions(complaint(space_in_loop, {BM = 16}, ErrorKind::trace, kInLoop),
                 "this one is inside the loop at " + here(kInLoop - 1)));
}

TEST_CASE("control that can't be") {
  CHECK(mentions(complaint(late_otherwise, {BM = 16}, ErrorKind::trace, kOtherwise),
                 "otherwise() follows its when(...), the one at " + here(kOtherwise - 2)));
  CHECK(mentions(complaint(stands_still, {BM = 16}, ErrorKind::trace, kStep), "a step of 0"));
}

}  // namespace heddle
