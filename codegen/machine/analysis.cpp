#include "codegen/machine/analysis.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace heddle::codegen {

namespace {

using ir::Op;
using ir::Opcode;
using ir::Value;

constexpr int kDepth = 16;  // of expressions looked through

int64_t capped_product(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) || product > kAnyDivisor ? kAnyDivisor : product;
}

int64_t divisor_of(int64_t number) {
  return number == 0 ? kAnyDivisor : number == INT64_MIN ? 1 : std::min(std::abs(number), kAnyDivisor);
}

int64_t divisor(const Value* value, int depth);

// Of a loop's index: lower + turn * step.
int64_t argument_divisor(const Value* value, int depth) {
  const Op* loop = value->region->parent;
  if (!loop || loop->code != Opcode::for_loop || value->index != 0) return 1;
  return std::gcd(divisor(loop->operands[0], depth + 1), divisor(loop->operands[2], depth + 1));
}

int64_t divisor(const Value* value, int depth) {
  if (depth > kDepth) return 1;
  if (!value->definition) return value->region ? argument_divisor(value, depth) : 1;
  const Op& op = *value->definition;
  const auto of = [&](int i) { return divisor(op.operands[size_t(i)], depth + 1); };
  switch (op.code) {
    case Opcode::constant: return is_any_float(value->type.element) ? 1 : divisor_of(op.attribute(0));
    case Opcode::add:
    case Opcode::sub:
    case Opcode::min:
    case Opcode::max: return std::gcd(of(0), of(1));
    case Opcode::mul: return capped_product(of(0), of(1));
    case Opcode::neg:
    case Opcode::broadcast: return of(0);
    case Opcode::select: return std::gcd(of(1), of(2));
    case Opcode::shl: {
      const Op* count = op.operands[1]->definition;
      if (!count || count->code != Opcode::constant || count->attribute(0) < 0 || count->attribute(0) > 30)
        return of(0);
      return capped_product(of(0), int64_t(1) << count->attribute(0));
    }
    default: return 1;
  }
}

std::optional<Affine> affine_of(const ir::Function& function, const Value* value, int depth) {
  if (depth > kDepth) return {};
  if (value->type.rank == 0) {
    if (value->type.kind != ir::Type::Kind::pointer)
      return Affine{.base_divisor = divisor(value, depth), .step = {}};
    if (const Op* op = value->definition; op && op->code == Opcode::pointer_add) {
      const auto base = affine_of(function, op->operands[0], depth + 1);
      if (!base) return {};
      return Affine{.base_divisor = std::gcd(base->base_divisor, divisor(op->operands[1], depth + 1)),
                    .step = {}};
    }
    for (const ir::Parameter& parameter : function.parameters)
      if (parameter.value == value)
        return Affine{.base_divisor = parameter.facts.aligned16 ? 16 / size_bytes(value->type.element) : 1,
                      .step = {}};
    return Affine{};
  }
  if (!value->definition) return {};
  const Op& op = *value->definition;
  const auto of = [&](size_t i) { return affine_of(function, op.operands[i], depth + 1); };
  switch (op.code) {
    case Opcode::constant: return Affine{.base_divisor = divisor(value, depth), .step = {}};
    case Opcode::arange: return Affine{.base_divisor = kAnyDivisor, .step = {1}};
    case Opcode::broadcast: {
      auto result = of(0);
      if (result)
        for (int i = 0; i < op.operands[0]->type.rank; ++i)
          if (op.operands[0]->type.extents[size_t(i)].value == 1) result->step[size_t(i)] = 0;
      return result;
    }
    case Opcode::expand: {
      auto result = of(0);
      if (!result) return {};
      for (int i = value->type.rank - 1; i > op.attribute(0); --i)
        result->step[size_t(i)] = result->step[size_t(i - 1)];
      result->step[size_t(op.attribute(0))] = 0;
      return result;
    }
    case Opcode::squeeze: {
      auto result = of(0);
      if (!result) return {};
      for (int i = int(op.attribute(0)); i < value->type.rank; ++i)
        result->step[size_t(i)] = result->step[size_t(i + 1)];
      result->step[size_t(value->type.rank)] = 0;
      return result;
    }
    case Opcode::transpose: {
      auto result = of(0);
      if (result)
        std::swap(result->step[size_t(value->type.rank - 1)], result->step[size_t(value->type.rank - 2)]);
      return result;
    }
    case Opcode::add:
    case Opcode::sub:
    case Opcode::pointer_add: {
      auto a = of(0);
      const auto b = of(1);
      if (!a || !b) return {};
      a->base_divisor = std::gcd(a->base_divisor, b->base_divisor);
      for (size_t i = 0; i < a->step.size(); ++i)
        if (op.code == Opcode::sub ? __builtin_sub_overflow(a->step[i], b->step[i], &a->step[i])
                                   : __builtin_add_overflow(a->step[i], b->step[i], &a->step[i]))
          return {};
      return a;
    }
    case Opcode::mul:
      for (const size_t side : {0, 1}) {
        const Op* factor = op.operands[side]->definition;
        while (factor && factor->code == Opcode::broadcast) factor = factor->operands[0]->definition;
        if (!factor || factor->code != Opcode::constant) continue;
        auto result = of(1 - side);
        if (!result) return {};
        result->base_divisor = capped_product(result->base_divisor, divisor_of(factor->attribute(0)));
        for (int64_t& step : result->step)
          if (__builtin_mul_overflow(step, factor->attribute(0), &step)) return {};
        return result;
      }
      return {};
    default: return {};
  }
}

// The largest power of two that divides both and is at most 16 bytes of elements.
int64_t wide_elements(int64_t known, DType element) {
  const int64_t limit = 16 / size_bytes(element);
  return std::min(limit, known & -known);
}

}  // namespace

int64_t known_divisor(const Value* value) {
  return divisor(value, 0);
}

std::optional<Affine> affine(const ir::Function& function, const Value* value) {
  return affine_of(function, value, 0);
}

bool is_shape_op(ir::Opcode code) {
  switch (code) {
    case ir::Opcode::broadcast:
    case ir::Opcode::expand:
    case ir::Opcode::squeeze:
    case ir::Opcode::transpose: return true;
    default: return false;
  }
}

bool is_order_free(ir::ReduceKind kind, DType type) {
  return kind == ir::ReduceKind::max || kind == ir::ReduceKind::min || !is_any_float(type);
}

int64_t values_crossing_warps(const ir::Layout& layout, int axis, bool order_free) {
  if (order_free) return ir::collapsed(layout, axis).register_count();
  int highest = -1;
  for (const ir::Layout::Bit& bit : layout.warps)
    if (bit.axis == axis) highest = std::max(highest, int(bit.shift));
  int64_t values = ir::collapsed(layout, axis).register_count();
  for (const ir::Layout::Bit& bit : layout.registers)
    if (bit.axis == axis && bit.shift < highest) values *= 2;
  return values;
}

bool is_wide_along(const ir::Function& function, const Value* view, int axis) {
  for (const ir::Parameter& parameter : function.parameters)
    if (parameter.value == view) return parameter.facts.aligned16 && parameter.facts.unit_stride_axis == axis;
  return false;
}

WideAccess wide_access(const ir::Function& function, const Op& access) {
  const bool is_view = access.code == Opcode::load_view || access.code == Opcode::store_view;
  const bool is_load = access.code == Opcode::load || access.code == Opcode::load_view;
  const ir::Type& tile = is_load ? access.results[0]->type : access.operands[1]->type;
  WideAccess wide{.axis = tile.rank - 1, .elements = 1};
  if (tile.rank == 0) return wide;
  if (is_view) {
    const Value* view = access.operands[0];
    const int leading = view->type.rank - tile.rank;
    for (int axis = 0; axis < tile.rank; ++axis)
      if (is_wide_along(function, view, leading + axis)) {
        const Value* offset = access.operands[size_t((is_load ? 1 : 2) + leading + axis)];
        wide = {.axis = axis, .elements = wide_elements(known_divisor(offset), tile.element)};
      }
    return wide;
  }
  const auto addresses = affine(function, access.operands[0]);
  if (!addresses) return wide;
  for (int axis = tile.rank; axis-- > 0;) {
    if (addresses->step[size_t(axis)] != 1) continue;
    int64_t known = addresses->base_divisor;
    for (int other = 0; other < tile.rank; ++other)
      if (other != axis) known = std::gcd(known, divisor_of(addresses->step[size_t(other)]));
    return {.axis = axis, .elements = wide_elements(known, tile.element)};
  }
  return wide;
}

}  // namespace heddle::codegen
