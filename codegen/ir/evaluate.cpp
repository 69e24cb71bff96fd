// Lane evaluation, generated from ops.def: a new elementwise row needs no edit here.
#include "codegen/ir/evaluate.h"

#include "codegen/ir/arithmetic.h"
#include "codegen/ir/fail.h"

namespace heddle::ir {

namespace {

using Loop = void (*)(const Lane* const* operands, Lane* results, int64_t count);

template <DType type, int arity, class Meaning>
void elementwise_loop(const Lane* const* operands, Lane* results, int64_t count) {
  using V = typename LaneValue<type>::Value;
  const Lane* first = operands[0];
  const Lane* second = operands[arity > 1 ? 1 : 0];
  const Lane* third = operands[arity > 2 ? 2 : 0];
  for (int64_t i = 0; i < count; ++i) {
    const auto value =
        Meaning{}(read_lane<type>(first[i]), read_lane<type>(second[i]), read_lane<type>(third[i]));
    using Result = std::remove_const_t<decltype(value)>;
    static_assert(std::is_same_v<Result, V> || std::is_same_v<Result, bool>);
    if constexpr (std::is_same_v<Result, bool>)
      results[i] = value;
    else
      results[i] = write_lane<type>(value);
  }
}

// Null where the row has no expression. `Meaning` is a captureless lambda over (a, b, c).
template <DType type, int arity, class Meaning>
Loop elementwise(Meaning) {
  using V = typename LaneValue<type>::Value;
  if constexpr (std::is_same_v<std::invoke_result_t<Meaning, V, V, V>, Expanded>)
    return nullptr;
  else
    return elementwise_loop<type, arity, Meaning>;
}

template <DType type>
void narrow_fma_loop(const Lane* const* operands, Lane* results, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    results[i] =
        encode_float(multiply_add_to_odd(read_lane<type>(operands[0][i]), read_lane<type>(operands[1][i]),
                                         read_lane<type>(operands[2][i])),
                     float_format(type));
}

template <DType type>
Loop elementwise_of(Opcode code) {
  if constexpr (is_floating(type) && bit_width(type) < 32)
    if (code == Opcode::fma) return narrow_fma_loop<type>;
  switch (code) {
#define HEDDLE_ELEMENTWISE(name, arity, domain, result, laws, expression)                            \
  case Opcode::name:                                                                                 \
    if constexpr (in_domain(Domain::domain, type))                                                   \
      return elementwise<type, arity>([](auto a, [[maybe_unused]] auto b, [[maybe_unused]] auto c) { \
        using V [[maybe_unused]] = decltype(a);                                                      \
        return expression;                                                                           \
      });                                                                                            \
    else                                                                                             \
      return nullptr;
#include "codegen/ir/ops.def"
    default: return nullptr;
  }
}

// Every pair of element types, rounding at most once.
template <DType from, DType to>
Lane cast_lane(Lane lane) {
  if constexpr (from == to) return lane;
  const auto value = read_lane<from>(lane);
  using To = typename LaneValue<to>::Value;
  if constexpr (to == DType::i1) {
    return value != 0;
  } else if constexpr (is_integer(to)) {
    if constexpr (is_any_float(from))
      return write_lane<to>(saturating_cast<To>(value));
    else
      return write_lane<to>(To(value));
  } else if constexpr (bit_width(to) < 32) {
    if constexpr (is_any_float(from))
      return encode_float(value, float_format(to));
    else
      return encode_integer(value, float_format(to));
  } else {
    return write_lane<to>(To(value));
  }
}

template <DType from, DType to>
void cast_loop(const Lane* const* operands, Lane* results, int64_t count) {
  for (int64_t i = 0; i < count; ++i) results[i] = cast_lane<from, to>(operands[0][i]);
}

Loop cast_of(DType from, DType to) {
  return visit_dtype(from, [&]<DType source>() {
    return visit_dtype(to, []<DType target>() -> Loop { return cast_loop<source, target>; });
  });
}

void select_loop(const Lane* const* operands, Lane* results, int64_t count) {
  for (int64_t i = 0; i < count; ++i) results[i] = operands[0][i] ? operands[1][i] : operands[2][i];
}

void copy_loop(const Lane* const* operands, Lane* results, int64_t count) {
  for (int64_t i = 0; i < count; ++i) results[i] = operands[0][i];
}

Loop loop_of(Opcode code, DType operand, DType result) {
  switch (code) {
    case Opcode::select: return select_loop;
    case Opcode::bitcast: return copy_loop;
    case Opcode::cast: return cast_of(operand, result);
    default: return visit_dtype(operand, [&]<DType type>() { return elementwise_of<type>(code); });
  }
}

}  // namespace

bool can_evaluate(Opcode code, DType operand) {
  return loop_of(code, operand, operand) != nullptr;
}

void evaluate(Opcode code, DType operand, DType result, const Lane* const* operands, Lane* results,
              int64_t count) {
  const Loop loop = loop_of(code, operand, result);
  if (!loop)
    fail(ErrorKind::internal, {}, "{} on {} can't be evaluated lane by lane", info(code).name,
         heddle::to_string(operand));
  loop(operands, results, count);
}

Lane evaluate(Opcode code, DType operand, DType result, const Lane* lanes) {
  const Lane* operands[3] = {};
  for (int i = 0; i < info(code).max_operands; ++i) operands[i] = lanes + i;
  Lane value = 0;
  evaluate(code, operand, result, operands, &value, 1);
  return value;
}

Lane lane_of_payload(DType type, int64_t payload) {
  const DType from = is_any_float(type) ? DType::f64 : DType::i64;
  const Lane lane = Lane(payload);
  return evaluate(Opcode::cast, from, type, &lane);
}

int64_t payload_of_lane(DType type, Lane lane) {
  const DType to = is_any_float(type) ? DType::f64 : DType::i64;
  return int64_t(evaluate(Opcode::cast, type, to, &lane));
}

}  // namespace heddle::ir
