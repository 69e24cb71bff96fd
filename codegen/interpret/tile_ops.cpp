// Shape ops, reductions and dot on vectors of lanes.
#include "codegen/interpret/tile_ops.h"

#include <bit>

#include "codegen/ir/arithmetic.h"
#include "codegen/ir/check.h"
#include "codegen/ir/evaluate.h"

namespace heddle::codegen {

using ir::Lane;
using ir::Type;

Lanes broadcast(const Lanes& lanes, const Type& from, const Type& to) {
  Lanes result(to.count());
  for_each_index(to, [&](int64_t lane, const auto& index) {
    int64_t source = 0;
    for (int axis = 0; axis < from.rank; ++axis) {
      const int64_t extent = from.extents[axis].value;
      source = source * extent + (extent == 1 ? 0 : index[axis]);
    }
    result[lane] = lanes[source];
  });
  return result;
}

Lanes transpose(const Lanes& lanes, const Type& from) {
  const int64_t rows = from.extents[from.rank - 2].value, columns = from.extents[from.rank - 1].value;
  Lanes result(lanes.size());
  for (int64_t base = 0; base < from.count(); base += rows * columns)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) result[base + j * rows + i] = lanes[base + i * columns + j];
  return result;
}

// The stated tree (docs/language.md): the upper half is folded onto the lower, where the lower half's extent
// is the largest power of two below n. Lanes of the upper half without a partner don't exist, so no identity
// is needed.
Lanes reduce(Lanes lanes, const Type& from, ir::ReduceKind kind, int axis) {
  using ir::Opcode;
  const Opcode step = kind == ir::ReduceKind::sum       ? Opcode::add
                      : kind == ir::ReduceKind::product ? Opcode::mul
                      : kind == ir::ReduceKind::max     ? Opcode::max
                                                        : Opcode::min;
  const int64_t extent = from.extents[axis].value;
  int64_t inner = 1;  // lanes between neighbours along the axis
  for (int i = axis + 1; i < from.rank; ++i) inner *= from.extents[i].value;
  const int64_t outer = from.count() / (extent * inner);

  Lanes result(outer * inner);
  for (int64_t o = 0; o < outer; ++o) {
    Lane* x = lanes.data() + o * extent * inner;
    for (int64_t n = extent; n > 1;) {
      const int64_t half = int64_t(std::bit_ceil(uint64_t(n)) / 2);
      const Lane* operands[] = {x, x + half * inner};
      evaluate(step, from.element, from.element, operands, x, (n - half) * inner);
      n = half;
    }
    std::copy(x, x + inner, result.begin() + o * inner);
  }
  return result;
}

namespace {

template <class V>
V chain_step(V a, V b, V c) {
  if constexpr (ir::is_float_value<V>)
    return ir::fused_multiply_add(a, b, c);
  else
    return ir::wrapping_add(c, ir::wrapping_mul(a, b));
}

template <DType operand, DType result>
Lanes dot_of(const Lanes& a, const Lanes& b, const Lanes& c, int64_t m, int64_t n, int64_t k) {
  using V = typename ir::LaneValue<result>::Value;
  std::vector<V> left(a.size()), right(b.size()), sum(c.size());
  for (size_t i = 0; i < a.size(); ++i) left[i] = ir::read_lane<operand>(a[i]);
  for (size_t i = 0; i < b.size(); ++i) right[i] = ir::read_lane<operand>(b[i]);
  for (size_t i = 0; i < c.size(); ++i) sum[i] = ir::read_lane<result>(c[i]);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l)
      for (int64_t j = 0; j < n; ++j)
        sum[i * n + j] = chain_step(left[i * k + l], right[l * n + j], sum[i * n + j]);
  Lanes lanes(c.size());
  for (size_t i = 0; i < c.size(); ++i) lanes[i] = ir::write_lane<result>(sum[i]);
  return lanes;
}

}  // namespace

Lanes dot(const Lanes& a, const Lanes& b, const Lanes& c, const Type& a_type, const Type& b_type) {
  const int64_t m = a_type.extents[0].value, k = a_type.extents[1].value, n = b_type.extents[1].value;
  switch (a_type.element) {
    case DType::i8: return dot_of<DType::i8, DType::i32>(a, b, c, m, n, k);
    case DType::f16: return dot_of<DType::f16, DType::f32>(a, b, c, m, n, k);
    case DType::bf16: return dot_of<DType::bf16, DType::f32>(a, b, c, m, n, k);
    case DType::f64: return dot_of<DType::f64, DType::f64>(a, b, c, m, n, k);
    default: return dot_of<DType::f32, DType::f32>(a, b, c, m, n, k);  // check() admits no other
  }
}

}  // namespace heddle::codegen
