// The interpreter: memory rules, shapes, reductions, dot, control, the work space, access checking.
#include "codegen/interpret/interpret.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "codegen/ir/builder.h"
#include "codegen/ir/check.h"

using namespace heddle;
using namespace heddle::ir;
using codegen::interpret;
using codegen::interpret_all;
using codegen::InterpretOptions;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Type tile_type(DType element, std::initializer_list<int64_t> extents) {
  Type type{.kind = Type::Kind::data, .element = element};
  for (int64_t extent : extents) type.extents[type.rank++] = {.value = extent};
  return type;
}

Type pointer_type(DType element) {
  return Type::scalar(element).with_kind(Type::Kind::pointer);
}

Type view_type(DType element, int rank) {
  return {.kind = Type::Kind::view, .element = element, .rank = uint8_t(rank)};
}

// A function under construction, and its arguments as slots.
struct Kernel {
  Function function;
  Builder builder{function, function.body};
  std::vector<int64_t> slots;

  Value* pointer(const auto* data) {
    slots.push_back(int64_t(data));
    using Element = std::remove_cvref_t<decltype(*data)>;
    return function.add_parameter(pointer_type(dtype_of<Element>), false).value;
  }
  Value* view(const auto* data, std::vector<int64_t> extents, std::vector<int64_t> strides) {
    slots.push_back(int64_t(data));
    slots.insert(slots.end(), extents.begin(), extents.end());
    slots.insert(slots.end(), strides.begin(), strides.end());
    using Element = std::remove_cvref_t<decltype(*data)>;
    return function.add_parameter(view_type(dtype_of<Element>, int(extents.size())), false).value;
  }
  Value* scalar(DType type, int64_t bits) {
    slots.push_back(bits);
    return function.add_parameter(Type::scalar(type), false).value;
  }

  Value* load_view(Type tile, std::vector<Value*> operands, bool fill = false) {
    return builder.emit(Opcode::load_view, std::move(operands), {{.value = fill}}, {tile})->result();
  }
  Value* arange(int64_t count) {
    return builder.emit(Opcode::arange, {}, {}, {tile_type(DType::i64, {count})})->result();
  }
  // Row-major lanes of `value` to `data`.
  void store_all(Value* value, const auto* data) {
    std::vector<Value*> operands{nullptr, value};
    std::vector<int64_t> extents, strides(value->type.rank, 1);
    for (int i = 0; i < value->type.rank; ++i) extents.push_back(value->type.extents[i].value);
    for (int i = value->type.rank - 2; i >= 0; --i) strides[i] = strides[i + 1] * extents[i + 1];
    operands[0] = view(data, extents, strides);
    for (size_t i = 0; i < extents.size(); ++i) operands.push_back(builder.index(0));
    builder.emit(Opcode::store_view, operands);
  }

  void run(InterpretOptions options = {}) { interpret(function, slots.data(), nullptr, 0, options); }
};

}  // namespace

TEST_CASE("a masked load without a fill reads zero in the lanes that are off") {  // bugs 36
  std::vector<float> ones(5, 1.0f), sum(1), filled(8);
  Kernel k;
  const Type tile = tile_type(DType::f32, {8});
  Value* lane = k.arange(8);
  Value* pointers =
      k.builder.value(Opcode::pointer_add, {k.builder.broadcast(k.pointer(ones.data()), tile), lane});
  Value* live = k.builder.value(Opcode::lt, {lane, k.builder.broadcast(k.builder.index(5), tile)});
  k.store_all(k.builder.reduce(k.builder.value(Opcode::load, {pointers, live}), ReduceKind::sum, 0),
              sum.data());
  Value* fill = k.builder.constant(tile, 7);
  k.store_all(k.builder.value(Opcode::load, {pointers, live, fill}), filled.data());
  k.run();
  CHECK(sum[0] == 5);
  CHECK(filled == std::vector<float>{1, 1, 1, 1, 1, 7, 7, 7});
}

TEST_CASE("a masked store leaves the lanes that are off untouched") {
  std::vector<int32_t> out(6, -1);
  Kernel k;
  const Type tile = tile_type(DType::i32, {6});
  Value* lane = k.arange(6);
  Value* pointers =
      k.builder.value(Opcode::pointer_add, {k.builder.broadcast(k.pointer(out.data()), tile), lane});
  Value* live = k.builder.value(Opcode::ge, {lane, k.builder.broadcast(k.builder.index(4), tile)});
  k.builder.emit(Opcode::store, {pointers, k.builder.cast(lane, DType::i32), live});
  k.run();
  CHECK(out == std::vector<int32_t>{-1, -1, -1, -1, 4, 5});
}

TEST_CASE("i1 in memory: any nonzero byte is true, true is stored as 1") {  // bugs 24
  const uint8_t bytes[4] = {0, 1, 2, 255};
  uint8_t stored[4] = {9, 9, 9, 9};
  int32_t numbers[4];
  Kernel k;
  Value* in = k.view(reinterpret_cast<const bool*>(bytes), {4}, {1});
  Value* flags = k.load_view(tile_type(DType::i1, {4}), {in, k.builder.index(0)});
  k.store_all(flags, reinterpret_cast<const bool*>(stored));
  k.store_all(k.builder.cast(flags, DType::i32), numbers);
  k.run();
  for (int i = 0; i < 4; ++i) CHECK(int(stored[i]) == (bytes[i] != 0));
  for (int i = 0; i < 4; ++i) CHECK(numbers[i] == (bytes[i] != 0));
}

TEST_CASE("an i1 argument is true when its byte is") {
  for (int64_t byte : {0, 1, 255}) {
    int32_t number = -1;
    Kernel k;
    Value* flag = k.builder.broadcast(k.scalar(DType::i1, byte), tile_type(DType::i1, {1}));
    k.store_all(k.builder.cast(flag, DType::i32), &number);
    k.run();
    CHECK(number == (byte != 0));
  }
}

TEST_CASE("scalar arguments count by the low bytes alone") {
  int8_t out = 0;
  Kernel k;
  k.store_all(k.builder.broadcast(k.scalar(DType::i8, 0x7fff'ff85), tile_type(DType::i8, {1})), &out);
  k.run();
  CHECK(out == int8_t(0x85));
}

TEST_CASE("a view's tile reads fill outside every edge, also at negative offsets") {
  std::vector<float> data(3 * 4);
  for (size_t i = 0; i < data.size(); ++i) data[i] = float(i + 1);
  for (int64_t row = -3; row <= 4; ++row)
    for (int64_t column = -3; column <= 5; ++column) {
      std::vector<float> zeros(4), sevens(4);
      Kernel k;
      Value* view = k.view(data.data(), {3, 4}, {4, 1});
      Value *i = k.builder.index(row), *j = k.builder.index(column);
      const Type tile = tile_type(DType::f32, {2, 2});
      k.store_all(k.load_view(tile, {view, i, j}), zeros.data());
      k.store_all(k.load_view(tile, {view, i, j, k.builder.constant(Type::scalar(DType::f32), 7)}, true),
                  sevens.data());
      InterpretOptions options;
      options.allowed = {{.base = data.data(), .bytes = 48, .writable = false},
                         {.base = zeros.data(), .bytes = 16},
                         {.base = sevens.data(), .bytes = 16}};
      k.run(options);
      for (int64_t lane = 0; lane < 4; ++lane) {
        const int64_t r = row + lane / 2, c = column + lane % 2;
        const bool inside = r >= 0 && r < 3 && c >= 0 && c < 4;
        CHECK(zeros[lane] == (inside ? data[r * 4 + c] : 0));
        CHECK(sevens[lane] == (inside ? data[r * 4 + c] : 7));
      }
    }
}

TEST_CASE("a view's store writes nothing outside the extents") {
  std::vector<int32_t> data(5 * 7, -1);  // the view is the 3 x 4 corner of a 5 x 7 array
  Kernel k;
  Value* view = k.view(data.data(), {3, 4}, {7, 1});
  Value* ones = k.builder.integer(tile_type(DType::i32, {3, 3}), {.value = 1});
  k.builder.emit(Opcode::store_view, {view, ones, k.builder.index(-2), k.builder.index(2)});
  k.builder.emit(Opcode::store_view, {view, ones, k.builder.index(2), k.builder.index(-2)});
  k.run();
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 7; ++j)
      CHECK(data[i * 7 + j] == ((i == 0 && (j == 2 || j == 3)) || (i == 2 && j == 0) ? 1 : -1));
}

TEST_CASE("a tile of lower rank lies along the view's last axes") {
  std::vector<int32_t> data(2 * 3 * 4);
  for (size_t i = 0; i < data.size(); ++i) data[i] = int32_t(i);
  std::vector<int32_t> inside(4), outside(4, 9);
  Kernel k;
  Value* view = k.view(data.data(), {2, 3, 4}, {12, 4, 1});
  const Type tile = tile_type(DType::i32, {4});
  k.store_all(k.load_view(tile, {view, k.builder.index(1), k.builder.index(2), k.builder.index(1)}),
              inside.data());
  k.store_all(k.load_view(tile, {view, k.builder.index(2), k.builder.index(0), k.builder.index(0)}),
              outside.data());
  k.run();
  CHECK(inside == std::vector<int32_t>{21, 22, 23, 0});
  CHECK(outside == std::vector<int32_t>{0, 0, 0, 0});
}

TEST_CASE("strides may be zero, negative, or the transposed ones") {
  const double data[6] = {0, 1, 2, 3, 4, 5};
  double reversed[6], transposed[6], repeated[6];
  Kernel k;
  Value* zero = k.builder.index(0);
  k.store_all(k.load_view(tile_type(DType::f64, {6}), {k.view(data + 5, {6}, {-1}), zero}), reversed);
  k.store_all(k.load_view(tile_type(DType::f64, {3, 2}), {k.view(data, {3, 2}, {1, 3}), zero, zero}),
              transposed);
  k.store_all(k.load_view(tile_type(DType::f64, {3, 2}), {k.view(data + 3, {3, 2}, {0, 0}), zero, zero}),
              repeated);
  k.run();
  for (int i = 0; i < 6; ++i) {
    CHECK(reversed[i] == 5 - i);
    CHECK(transposed[i] == i / 2 + 3 * (i % 2));
    CHECK(repeated[i] == 3);
  }
}

TEST_CASE("addresses are 64-bit") {  // bugs 10
  int64_t out = 0;
  Kernel k;
  Value* product = k.builder.value(Opcode::mul, {k.builder.index(319), k.builder.index(7864320)});
  k.store_all(k.builder.broadcast(product, tile_type(DType::i64, {1})), &out);
  k.run();
  CHECK(out == 2508718080);
}

TEST_CASE("view_extent and view_stride read the arguments") {
  const float data[1] = {};
  int64_t out[4];
  Kernel k;
  Value* view = k.view(data, {3, 5}, {-7, 2});
  for (int i = 0; i < 4; ++i) {
    Value* value =
        k.builder.value(i < 2 ? Opcode::view_extent : Opcode::view_stride, {view}, {{.value = i % 2}});
    k.store_all(k.builder.broadcast(value, tile_type(DType::i64, {1})), &out[i]);
  }
  k.run();
  CHECK(out[0] == 3);
  CHECK(out[1] == 5);
  CHECK(out[2] == -7);
  CHECK(out[3] == 2);
}

TEST_CASE("expand, squeeze, broadcast and transpose move lanes as numpy does") {
  int64_t grid[3 * 4], swapped[4 * 3], back[3];
  Kernel k;
  Value* rows = k.builder.value(Opcode::expand, {k.arange(3)}, {{.value = 1}});
  Value* columns = k.builder.value(Opcode::expand, {k.arange(4)}, {{.value = 0}});
  const Type shape = tile_type(DType::i64, {3, 4});
  Value* ten = k.builder.broadcast(k.builder.index(10), shape);
  Value* sum =
      k.builder.value(Opcode::add, {k.builder.value(Opcode::mul, {k.builder.broadcast(rows, shape), ten}),
                                    k.builder.broadcast(columns, shape)});
  k.store_all(sum, grid);
  k.store_all(k.builder.value(Opcode::transpose, {sum}), swapped);
  k.store_all(k.builder.value(Opcode::squeeze, {rows}, {{.value = 1}}), back);
  k.run();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      CHECK(grid[i * 4 + j] == i * 10 + j);
      CHECK(swapped[j * 3 + i] == i * 10 + j);
      CHECK(back[i] == i);
    }
}

TEST_CASE("transpose swaps the last two axes of each matrix of a batch") {
  int64_t out[2 * 2 * 3];
  Kernel k;
  const int64_t in[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Value* zero = k.builder.index(0);
  Value* batch =
      k.load_view(tile_type(DType::i64, {2, 3, 2}), {k.view(in, {2, 3, 2}, {6, 2, 1}), zero, zero, zero});
  k.store_all(k.builder.value(Opcode::transpose, {batch}), out);
  k.run();
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 2; ++j) CHECK(out[b * 6 + j * 3 + i] == in[b * 6 + i * 2 + j]);
}

// The stated tree, written another way: split at the largest power of two below n, fold the tail onto the
// head.
static float tree_sum(std::vector<float> x) {
  while (x.size() > 1) {
    size_t half = 1;
    while (half * 2 < x.size()) half *= 2;
    for (size_t i = half; i < x.size(); ++i) x[i - half] += x[i];
    x.resize(half);
  }
  return x[0];
}

TEST_CASE("a reduction follows the stated tree along any axis") {
  for (int64_t n : {1, 2, 3, 5, 8, 13, 64, 100}) {
    std::vector<float> data(3 * n * 2), out(3 * 2);
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = std::ldexp(float(i * 2654435761u % 1000), int(i % 40) - 20);
    Kernel k;
    Value* zero = k.builder.index(0);
    Value* view = k.view(data.data(), {3, n, 2}, {n * 2, 2, 1});
    Value* tile = k.load_view(tile_type(DType::f32, {3, n, 2}), {view, zero, zero, zero});
    Value* sums = k.builder.reduce(tile, ReduceKind::sum, 1);
    CHECK(sums->type == tile_type(DType::f32, {3, 1, 2}));
    k.store_all(sums, out.data());
    k.run();
    for (int64_t i = 0; i < 6; ++i) {
      std::vector<float> line;
      for (int64_t l = 0; l < n; ++l) line.push_back(data[(i / 2) * n * 2 + l * 2 + i % 2]);
      CHECK(out[i] == tree_sum(line));
    }
  }
}

TEST_CASE("max and min over a row with one NaN give NaN, wherever it stands") {  // bugs 28
  for (int position : {0, 31, 32, 63})
    for (DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      std::vector<float> row(64, kInfinity), out(2);
      row[position] = kNaN;
      Kernel k;
      Value* loaded =
          k.load_view(tile_type(DType::f32, {64}), {k.view(row.data(), {64}, {1}), k.builder.index(0)});
      Value* tile = k.builder.cast(loaded, type);
      k.store_all(k.builder.cast(k.builder.reduce(tile, ReduceKind::max, 0), DType::f32), &out[0]);
      k.store_all(k.builder.cast(k.builder.reduce(tile, ReduceKind::min, 0), DType::f32), &out[1]);
      k.run();
      CHECK(std::isnan(out[0]));
      CHECK(std::isnan(out[1]));
    }
}

TEST_CASE("f16 sums round to f16 at every step of the tree") {
  std::vector<f16> data(4, f16(1));
  data[0] = f16(2048);  // + 1 is a tie that goes back to 2048
  f16 out;
  Kernel k;
  Value* tile = k.load_view(tile_type(DType::f16, {4}), {k.view(data.data(), {4}, {1}), k.builder.index(0)});
  k.store_all(k.builder.reduce(tile, ReduceKind::sum, 0), &out);
  k.run();
  CHECK(float(out) == 2050);  // (2048 + 1) + (1 + 1): rounded once, the exact 2051 would give 2052
}

TEST_CASE("products and integer reductions") {
  const int32_t data[5] = {3, -2, 7, 1 << 30, 5};
  int32_t out[4];
  Kernel k;
  Value* tile = k.load_view(tile_type(DType::i32, {5}), {k.view(data, {5}, {1}), k.builder.index(0)});
  for (int kind = 0; kind < 4; ++kind) k.store_all(k.builder.reduce(tile, ReduceKind(kind), 0), &out[kind]);
  k.run();
  CHECK(out[int(ReduceKind::sum)] == 13 + (1 << 30));
  CHECK(out[int(ReduceKind::product)] == int32_t(uint32_t(-210) << 30));
  CHECK(out[int(ReduceKind::max)] == 1 << 30);
  CHECK(out[int(ReduceKind::min)] == -2);
}

namespace {

// c + a·b through the interpreter, and by the chain of the definition.
template <class T, class Sum>
void check_dot(int64_t m, int64_t n, int64_t depth) {
  std::vector<T> a(m * depth), b(depth * n);
  std::vector<Sum> c(m * n), out(m * n);
  uint32_t state = 1;
  auto next = [&] { return int(state = state * 1664525 + 1013904223) >> 20; };
  auto wide = [](T value) {
    if constexpr (sizeof(T) < sizeof(Sum) && !std::is_integral_v<T>)
      return Sum(float(value));
    else
      return Sum(value);
  };
  for (T& value : a) value = std::is_integral_v<T> ? T(next()) : T(float(next()) / 37);
  for (T& value : b) value = std::is_integral_v<T> ? T(next()) : T(float(next()) / 53);
  for (Sum& value : c) value = Sum(next());
  Kernel k;
  Value* zero = k.builder.index(0);
  Value* x =
      k.load_view(tile_type(dtype_of<T>, {m, depth}), {k.view(a.data(), {m, depth}, {depth, 1}), zero, zero});
  Value* y =
      k.load_view(tile_type(dtype_of<T>, {depth, n}), {k.view(b.data(), {depth, n}, {n, 1}), zero, zero});
  Value* z = k.load_view(tile_type(dtype_of<Sum>, {m, n}), {k.view(c.data(), {m, n}, {n, 1}), zero, zero});
  k.store_all(k.builder.value(Opcode::dot, {x, y, z}), out.data());
  k.run();
  int64_t wrong = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Sum sum = c[i * n + j];
      for (int64_t l = 0; l < depth; ++l) {
        if constexpr (std::is_integral_v<Sum>)
          sum += wide(a[i * depth + l]) * wide(b[l * n + j]);
        else
          sum = std::fma(wide(a[i * depth + l]), wide(b[l * n + j]), sum);
      }
      wrong += sum != out[i * n + j];
    }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("dot is one chain of fma in K order from c") {
  check_dot<float, float>(3, 5, 7);
  check_dot<double, double>(3, 5, 7);
  check_dot<f16, float>(3, 5, 7);
  check_dot<bf16, float>(3, 5, 7);
  check_dot<int8_t, int32_t>(3, 5, 7);
  check_dot<float, float>(256, 256, 256);
}

TEST_CASE("an f32 dot keeps all bits of its operands") {  // bugs 84
  float a[16] = {1.000244140625f}, b[16] = {1}, out = 0;
  Kernel k;
  Value* zero = k.builder.index(0);
  Value* x = k.load_view(tile_type(DType::f32, {1, 16}), {k.view(a, {1, 16}, {16, 1}), zero, zero});
  Value* y = k.load_view(tile_type(DType::f32, {16, 1}), {k.view(b, {16, 1}, {1, 1}), zero, zero});
  k.store_all(k.builder.value(Opcode::dot, {x, y, k.builder.constant(tile_type(DType::f32, {1, 1}), 0)}),
              &out);
  k.run();
  CHECK(out == 1.000244140625f);
}

TEST_CASE("products are not contracted into fma") {  // bugs 82
  const float x[1] = {1134139801600.0f}, s[1] = {0.180336877703666687f};
  float out = 1;
  Kernel k;
  const Type tile = tile_type(DType::f32, {1});
  Value* zero = k.builder.index(0);
  Value* a = k.load_view(tile, {k.view(x, {1}, {1}), zero});
  Value* b = k.load_view(tile, {k.view(s, {1}, {1}), zero});
  k.store_all(k.builder.value(Opcode::sub,
                              {k.builder.value(Opcode::mul, {a, b}), k.builder.value(Opcode::mul, {a, b})}),
              &out);
  k.run();
  CHECK(out == 0);
}

namespace {

// The indices a for_loop takes, as digits of a number in base 100, oldest first, plus how often it ran.
std::pair<int64_t, int64_t> loop_trace(int64_t lower, int64_t upper, int64_t step) {
  int64_t out[2] = {};
  Kernel k;
  Value* zero = k.builder.index(0);
  Op* loop = k.builder.emit(
      Opcode::for_loop, {k.builder.index(lower), k.builder.index(upper), k.builder.index(step), zero, zero},
      {{.value = 0}}, {zero->type, zero->type});
  Region* body = k.function.new_region(loop);
  Value* index = k.function.add_argument(*body, zero->type);
  Value* digits = k.function.add_argument(*body, zero->type);
  Value* count = k.function.add_argument(*body, zero->type);
  k.builder.set_region(*body);
  Value* shifted = k.builder.value(Opcode::mul, {digits, k.builder.index(100)});
  Value* next = k.builder.value(Opcode::add, {shifted, index});
  k.builder.emit(Opcode::yield, {next, k.builder.value(Opcode::add, {count, k.builder.index(1)})});
  k.builder.set_region(k.function.body);
  for (int i = 0; i < 2; ++i)
    k.store_all(k.builder.broadcast(loop->result(i), tile_type(DType::i64, {1})), &out[i]);
  k.run();
  return {out[0], out[1]};
}

}  // namespace

TEST_CASE("for_loop: up, down, not at all, to the ends of i64") {
  CHECK(loop_trace(1, 8, 3) == std::pair<int64_t, int64_t>{10407, 3});
  CHECK(loop_trace(8, 1, -3) == std::pair<int64_t, int64_t>{80502, 3});
  CHECK(loop_trace(3, 3, 1) == std::pair<int64_t, int64_t>{0, 0});
  CHECK(loop_trace(0, 9, -1) == std::pair<int64_t, int64_t>{0, 0});
  CHECK(loop_trace(0, 9, 0) == std::pair<int64_t, int64_t>{0, 0});
  const int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  CHECK(loop_trace(most - 3, most, 2).second == 2);
  CHECK(loop_trace(least + 3, least, -2).second == 2);
}

TEST_CASE("while_loop: the condition's region runs once more than the body, its state is the result") {
  // Counts n down, adding it up: (n, sum) = (5, 0); the condition's region passes (n, sum) on.
  int64_t out[2] = {};
  Kernel k;
  const Type index = Type::scalar(DType::i64);
  Op* loop =
      k.builder.emit(Opcode::while_loop, {k.scalar(DType::i64, 5), k.builder.index(0)}, {}, {index, index});
  Region* condition = k.function.new_region(loop);
  Region* body = k.function.new_region(loop);
  for (Region* region : {condition, body})
    for (int i = 0; i < 2; ++i) k.function.add_argument(*region, index);
  k.builder.set_region(*condition);
  Value* tenfold = k.builder.value(Opcode::add, {condition->arguments[1], k.builder.index(100)});
  Value* again = k.builder.value(Opcode::gt, {condition->arguments[0], k.builder.index(0)});
  k.builder.emit(Opcode::yield, {again, condition->arguments[0], tenfold});
  k.builder.set_region(*body);
  Value* less = k.builder.value(Opcode::sub, {body->arguments[0], k.builder.index(1)});
  k.builder.emit(Opcode::yield,
                 {less, k.builder.value(Opcode::add, {body->arguments[1], body->arguments[0]})});
  k.builder.set_region(k.function.body);
  for (int i = 0; i < 2; ++i)
    k.store_all(k.builder.broadcast(loop->result(i), tile_type(DType::i64, {1})), &out[i]);
  k.run();
  CHECK(out[0] == 0);
  CHECK(out[1] == 15 + 600);
}

TEST_CASE("if_else takes one side; its effects happen on that side alone") {
  for (bool taken : {true, false}) {
    int64_t seen[2] = {-1, -1}, out = 0;
    Kernel k;
    Value* condition = k.scalar(DType::i1, taken);
    Op* branch = k.builder.emit(Opcode::if_else, {condition}, {}, {Type::scalar(DType::i64)});
    for (int side = 0; side < 2; ++side) {
      Region* region = k.function.new_region(branch);
      k.builder.set_region(*region);
      k.store_all(k.builder.broadcast(k.builder.index(side), tile_type(DType::i64, {1})), &seen[side]);
      k.builder.emit(Opcode::yield, {k.builder.index(10 + side)});
    }
    k.builder.set_region(k.function.body);
    k.store_all(k.builder.broadcast(branch->result(), tile_type(DType::i64, {1})), &out);
    k.run();
    CHECK(out == (taken ? 10 : 11));
    CHECK(seen[0] == (taken ? 0 : -1));
    CHECK(seen[1] == (taken ? -1 : 1));
  }
}

TEST_CASE("the tracer's variables hold what was written last, also through loops") {
  int64_t out = 0;
  Kernel k;
  Value* slot = k.builder.value(Opcode::variable, {k.builder.index(1)});
  Op* loop = k.builder.emit(Opcode::for_loop, {k.builder.index(0), k.builder.index(10), k.builder.index(1)},
                            {{.value = 0}});
  Region* body = k.function.new_region(loop);
  k.function.add_argument(*body, Type::scalar(DType::i64));
  k.builder.set_region(*body);
  Value* read = k.builder.value(Opcode::read_variable, {slot});
  k.builder.emit(Opcode::write_variable, {slot, k.builder.value(Opcode::add, {read, read})});
  k.builder.emit(Opcode::yield, {});
  k.builder.set_region(k.function.body);
  Value* last = k.builder.value(Opcode::read_variable, {slot});
  k.builder.emit(Opcode::write_variable, {slot, k.builder.index(0)});
  k.store_all(k.builder.broadcast(last, tile_type(DType::i64, {1})), &out);
  k.run();
  CHECK(out == 1024);
}

namespace {

// Adds one to every element of a rows × columns matrix that a tile of 2 × 3 covers.
void cover(Kernel& k, std::vector<int32_t>& data, int64_t rows, int64_t columns) {
  Value* view = k.view(data.data(), {rows, columns}, {columns, 1});
  Value* m = k.builder.value(Opcode::view_extent, {view}, {{.value = 0}});
  Value* n = k.builder.value(Opcode::view_extent, {view}, {{.value = 1}});
  Op* id = k.builder.emit(Opcode::tile_id, {m, n}, {{.value = 2}, {.value = 3}}, {m->type, n->type});
  const Type tile = tile_type(DType::i32, {2, 3});
  Value* old = k.load_view(tile, {view, id->result(0), id->result(1)});
  Value* next = k.builder.value(Opcode::add, {old, k.builder.integer(tile, {.value = 1})});
  k.builder.emit(Opcode::store_view, {view, next, id->result(0), id->result(1)});
}

}  // namespace

TEST_CASE("tile_id covers the work space once, tile by tile") {
  for (int64_t rows : {0, 1, 2, 5})
    for (int64_t columns : {0, 1, 3, 7}) {
      std::vector<int32_t> data(rows * columns + 1, 0);
      Kernel k;
      cover(k, data, rows, columns);
      interpret_all(k.function, k.slots.data());
      for (int64_t i = 0; i < rows * columns; ++i) CHECK(data[i] == 1);
      CHECK(data.back() == 0);
    }
}

TEST_CASE("one tile of the work space can be run alone") {
  std::vector<int32_t> data(4 * 6, 0);
  Kernel k;
  cover(k, data, 4, 6);
  k.run({.tile = 1});  // rows 0-1, columns 3-5
  for (int64_t i = 0; i < 24; ++i) CHECK(data[i] == (i / 6 < 2 && i % 6 >= 3));
  CHECK_THROWS_WITH_AS(k.run({.tile = 4}),
                       doctest::Contains("tile 4 was asked for, but the work space has 4"), Error);
}

TEST_CASE("program_id yields each program of the grid") {
  std::vector<int64_t> out(2 * 3 * 4, -1);
  Kernel k;
  Value* place = k.builder.index(0);
  const int64_t extents[3] = {2, 3, 4};
  for (int axis = 0; axis < 3; ++axis) {
    Value* id = k.builder.value(Opcode::program_id, {}, {{.value = axis}});
    place = k.builder.value(Opcode::add,
                            {k.builder.value(Opcode::mul, {place, k.builder.index(extents[axis])}), id});
  }
  Value* pointer = k.builder.value(Opcode::pointer_add, {k.pointer(out.data()), place});
  k.builder.emit(Opcode::store, {pointer, place});
  interpret_all(k.function, k.slots.data(), {2, 3, 4});
  for (int64_t i = 0; i < 24; ++i) CHECK(out[i] == i);
}

TEST_CASE("worker_id and work_param come from the launch") {
  int64_t out[2] = {};
  Kernel k;
  Value* pointer = k.pointer(out);
  k.builder.emit(Opcode::store, {pointer, k.builder.value(Opcode::worker_id, {})});
  k.builder.emit(Opcode::store, {k.builder.value(Opcode::pointer_add, {pointer, k.builder.index(1)}),
                                 k.builder.value(Opcode::work_param, {}, {{.value = 2}})});
  const int64_t work[3] = {5, 6, 7};
  interpret(k.function, k.slots.data(), work, 3);
  CHECK(out[0] == 3);
  CHECK(out[1] == 7);
}

TEST_CASE("an access outside the allowed memory is an error that names op and line, and touches nothing") {
  std::vector<float> data(8, 1.0f);
  Kernel k;
  Value* pointer = k.builder.value(Opcode::pointer_add, {k.pointer(data.data()), k.builder.index(4)});
  k.builder.where = Location("kernel.cpp", 42);
  k.builder.emit(Opcode::store, {pointer, k.builder.constant(Type::scalar(DType::f32), 3)});
  InterpretOptions options;
  options.allowed = {{.base = data.data(), .bytes = 19}};  // 3 of the 4 bytes
  try {
    k.run(options);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
    CHECK(error.where().line == 42);
    CHECK(std::string(error.message()).find("store touches 4 bytes at") == 0);
  }
  CHECK(data[4] == 1);
  options.allowed = {{.base = data.data(), .bytes = 20, .writable = false}};
  CHECK_THROWS_WITH_AS(k.run(options), doctest::Contains("outside the memory it may write"), Error);
  options.allowed = {{.base = data.data(), .bytes = 20}};
  k.run(options);
  CHECK(data[4] == 3);
}

TEST_CASE("constants: floats by their f64 value, integers by their low bits") {
  float number = 0;
  f16 half;
  int8_t byte = 0;
  double big = 0;
  Kernel k;
  k.store_all(k.builder.constant(tile_type(DType::f32, {1}), 0.1), &number);
  k.store_all(k.builder.constant(tile_type(DType::f16, {1}), 65500), &half);
  k.store_all(k.builder.integer(tile_type(DType::i8, {1}), {.value = -3}), &byte);
  k.store_all(k.builder.constant(tile_type(DType::f64, {1}), 2e50), &big);  // bugs 37
  k.run();
  CHECK(number == 0.1f);
  CHECK(float(half) == 65504);  // bugs 25
  CHECK(byte == -3);
  CHECK(big == 2e50);
}
