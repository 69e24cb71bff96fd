// Identities, by kind of op. Those on floats hold for signed zeros, infinities and subnormals.
#include "codegen/passes/rewrite.h"

#include "codegen/passes/fold.h"

namespace heddle::codegen {

namespace {

using ir::Op;
using ir::Opcode;
using ir::Type;
using ir::Value;

class Rewrite {
 public:
  Rewrite(const ir::Function& function, const Op& op, const MakeValue& make)
      : function_(function), op_(op), make_(make) {}

  Value* run() {
    if (op_.operands.empty()) return nullptr;
    if (Value* value = folded()) return value;
    switch (op_.code) {
      case Opcode::select: return select();
      case Opcode::cast: return cast();
      case Opcode::bitcast: return bitcast();
      case Opcode::broadcast:
      case Opcode::expand:
      case Opcode::squeeze:
      case Opcode::transpose: return shape();
      case Opcode::reduce:
        return operand(0)->type.extents[op_.attribute(1)].value == 1 ? operand(0) : nullptr;
      case Opcode::pointer_add: return is_constant(operand(1), 0) ? operand(0) : nullptr;
      case Opcode::view_stride: return view_stride();
      default: return ir::info(op_.code).elementwise ? elementwise() : nullptr;
    }
  }

 private:
  Value* operand(int i) const { return op_.operands[i]; }
  Type type() const { return op_.results[0]->type; }

  Value* constant(int64_t payload) { return make_(Opcode::constant, {}, {{.value = payload}}, type()); }
  Value* number(double value) { return constant(ir::constant_payload(type().element, value)); }

  // The defining op when it has this code.
  static const Op* defined_by(const Value* value, Opcode code) {
    return value->definition && value->definition->code == code ? value->definition : nullptr;
  }

  static bool is_constant(const Value* value, int64_t payload) { return constant_of(value) == payload; }
  // Floats compare by bits: 0.0 is not -0.0.
  static bool is_number(const Value* value, double number) {
    return is_constant(value, ir::constant_payload(value->type.element, number));
  }

  Value* folded() {
    int64_t payloads[3];
    const size_t count = op_.operands.size();
    if (count > 3) return nullptr;
    for (size_t i = 0; i < count; ++i) {
      const std::optional<int64_t> payload = constant_of(op_.operands[i]);
      if (!payload) return nullptr;
      payloads[i] = *payload;
    }
    switch (op_.code) {
      case Opcode::broadcast:
      case Opcode::expand:
      case Opcode::squeeze:
      case Opcode::transpose:  // keeps a dim's name
        return make_(Opcode::constant, {}, {operand(0)->definition->attributes[0]}, type());
      default:
        if (const std::optional<int64_t> payload = fold(op_, payloads)) return constant(*payload);
        return nullptr;
    }
  }

  Value* select() {
    if (operand(1) == operand(2)) return operand(1);
    if (const std::optional<int64_t> condition = constant_of(operand(0))) return operand(*condition ? 1 : 2);
    return nullptr;
  }

  Value* cast() {
    const DType from = operand(0)->type.element, to = type().element;
    if (from == to) return operand(0);
    const Op* inner = defined_by(operand(0), Opcode::cast);
    if (!inner) return nullptr;
    const DType source = inner->operands[0]->type.element;
    // Through a type that holds every value of the source, nothing is lost. But a float saturates where an
    // integer wraps.
    const bool lossless = embeds(source, from) && !(is_integer(source) && is_any_float(from) &&
                                                    is_integer(to) && !embeds(source, to));
    const bool wraps_twice =
        is_integer(source) && is_integer(from) && is_integer(to) && bit_width(to) <= bit_width(from);
    if (!lossless && !wraps_twice) return nullptr;
    if (source == to) return inner->operands[0];
    return make_(Opcode::cast, {inner->operands[0]}, {}, type());
  }

  Value* bitcast() {
    if (operand(0)->type.element == type().element) return operand(0);
    const Op* inner = defined_by(operand(0), Opcode::bitcast);
    if (!inner) return nullptr;
    if (inner->operands[0]->type.element == type().element) return inner->operands[0];
    return make_(Opcode::bitcast, {inner->operands[0]}, {}, type());
  }

  Value* shape() {
    Value* from = operand(0);
    if (op_.code == Opcode::broadcast && ir::same_shape(from->type, type())) return from;
    // A scalar spread over a tile stays that in every shape.
    const Op* spread = defined_by(from, Opcode::broadcast);
    if (spread && (op_.code == Opcode::broadcast || spread->operands[0]->type.rank == 0)) {
      if (ir::same_shape(spread->operands[0]->type, type())) return spread->operands[0];
      return make_(Opcode::broadcast, {spread->operands[0]}, {}, type());
    }
    if (op_.code == Opcode::transpose)
      if (const Op* inner = defined_by(from, Opcode::transpose)) return inner->operands[0];
    const Opcode opposite = op_.code == Opcode::squeeze ? Opcode::expand : Opcode::squeeze;
    if (op_.code == Opcode::expand || op_.code == Opcode::squeeze)
      if (const Op* inner = defined_by(from, opposite); inner && inner->attribute(0) == op_.attribute(0))
        return inner->operands[0];
    return nullptr;
  }

  Value* view_stride() {
    for (const ir::Parameter& parameter : function_.parameters)
      if (parameter.value == operand(0) && parameter.facts.unit_stride_axis == op_.attribute(0))
        return constant(1);
    return nullptr;
  }

  Value* elementwise() {
    Value* a = operand(0);
    Value* b = op_.operands.size() > 1 ? operand(1) : nullptr;
    switch (op_.code) {
      case Opcode::max:
      case Opcode::min:
        if (a == b) return a;
        break;
      case Opcode::neg:
        if (const Op* inner = defined_by(a, Opcode::neg)) return inner->operands[0];
        break;
      case Opcode::abs:
        if (defined_by(a, Opcode::abs)) return a;
        if (const Op* inner = defined_by(a, Opcode::neg); inner)
          return make_(Opcode::abs, {inner->operands[0]}, {}, type());
        break;
      case Opcode::bit_not:
        if (const Op* inner = defined_by(a, Opcode::bit_not)) return inner->operands[0];
        break;
      default: break;
    }
    return is_floating(a->type.element) ? floating(a, b) : integral(a, b);
  }

  Value* floating(Value* a, Value* b) {
    switch (op_.code) {
      case Opcode::add: return is_number(b, -0.0) ? a : nullptr;
      case Opcode::sub: return is_number(b, 0.0) ? a : nullptr;
      case Opcode::mul:
      case Opcode::div: return is_number(b, 1.0) ? a : nullptr;
      default: return nullptr;
    }
  }

  Value* integral(Value* a, Value* b) {
    const int64_t ones = a->type.element == DType::i1 ? 1 : -1;
    switch (op_.code) {
      case Opcode::add:
        if (is_constant(b, 0)) return a;
        return regrouped();
      case Opcode::sub:
        if (is_constant(b, 0)) return a;
        if (a == b) return constant(0);
        return nullptr;
      case Opcode::mul:
        if (is_constant(b, 0)) return b;
        if (is_constant(b, 1)) return a;
        return regrouped();
      case Opcode::div: return is_constant(b, 1) ? a : nullptr;
      case Opcode::rem: return is_constant(b, 1) ? constant(0) : nullptr;
      case Opcode::bit_and:
        if (is_constant(b, 0)) return b;
        return a == b || is_constant(b, ones) ? a : nullptr;
      case Opcode::bit_or:
        if (is_constant(b, ones)) return b;
        return a == b || is_constant(b, 0) ? a : nullptr;
      case Opcode::bit_xor:
        if (a == b) return constant(0);
        return is_constant(b, 0) ? a : nullptr;
      case Opcode::shl:
      case Opcode::shr: return is_constant(b, 0) ? a : nullptr;
      case Opcode::eq:
      case Opcode::le:
      case Opcode::ge: return a == b ? constant(1) : nullptr;
      case Opcode::ne:
      case Opcode::lt:
      case Opcode::gt: return a == b ? constant(0) : nullptr;
      default: return nullptr;
    }
  }

  // (x + 2) + 3 is x + 5, also when it wraps; likewise for products.
  Value* regrouped() {
    const Op* inner = defined_by(operand(0), op_.code);
    if (!inner || !constant_of(operand(1)) || !constant_of(inner->operands[1])) return nullptr;
    Value* both = make_(op_.code, {inner->operands[1], operand(1)}, {}, type());
    return make_(op_.code, {inner->operands[0], both}, {}, type());
  }

  const ir::Function& function_;
  const Op& op_;
  const MakeValue& make_;
};

}  // namespace

bool embeds(DType from, DType to) {
  if (from == to || from == DType::i1) return true;
  if (is_any_float(from)) {
    if (!is_any_float(to)) return false;
    const FloatFormat narrow = float_format(from), wide = float_format(to);
    // Enough precision, and the wide format's normal numbers reach down to the narrow one's subnormals (or
    // its own subnormals are as fine).
    return wide.has_infinity && wide.mantissa_bits >= narrow.mantissa_bits && wide.bias() >= narrow.bias();
  }
  const int magnitude_bits = bit_width(from) - 1;
  if (is_integer(to)) return bit_width(to) >= bit_width(from);
  const FloatFormat format = float_format(to);
  return is_any_float(to) && format.mantissa_bits + 1 >= magnitude_bits && format.bias() >= magnitude_bits;
}

ir::Value* rewrite(const ir::Function& function, const ir::Op& op, const MakeValue& make) {
  return Rewrite(function, op, make).run();
}

}  // namespace heddle::codegen
