// Type rules. Must not know where an op came from or where it is going.
#include "codegen/ir/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace heddle::ir {

namespace {

int attribute_count(const OpInfo& row) {
  const std::string_view names = row.attributes;
  if (names.empty()) return 0;
  if (names == "*") return -1;
  return 1 + int(std::count(names.begin(), names.end(), ','));
}

Type without_axis(Type type, int axis) {
  for (int i = axis; i + 1 < type.rank; ++i) type.extents[i] = type.extents[i + 1];
  type.extents[--type.rank] = {};
  return type;
}

Type with_axis(Type type, int axis) {
  for (int i = type.rank; i > axis; --i) type.extents[i] = type.extents[i - 1];
  type.extents[axis] = {.value = 1};
  ++type.rank;
  return type;
}

bool is_data(const Value* value) {
  return value->type.kind == Type::Kind::data;
}
// Whether shape ops apply: to data and pointers, not to views and variables.
bool has_shape(const Type& type) {
  return type.kind == Type::Kind::data || type.kind == Type::Kind::pointer;
}
bool is_index(const Value* value) {
  return value->type == Type::scalar(DType::i64);
}

Type infer_elementwise(const OpInfo& row, const std::vector<Value*>& operands) {
  const Type& first = operands[0]->type;
  for (const Value* operand : operands)
    if (operand->type != first || !is_data(operand)) return {};
  return row.boolean_result ? first.with_element(DType::i1) : first;
}

std::string check_elementwise(const OpInfo& row, const Op& op) {
  const Type& first = op.operands[0]->type;
  for (const Value* operand : op.operands) {
    if (!is_data(operand)) return fmt::format("{} takes data, not {}", row.name, to_string(operand->type));
    if (operand->type.element != first.element)
      return fmt::format("{} takes operands of one element type, not {} and {}; write a cast", row.name,
                         to_string(first), to_string(operand->type));
    if (!same_shape(operand->type, first))
      return fmt::format("{} takes operands of one shape, not {} and {}", row.name, to_string(first),
                         to_string(operand->type));
  }
  if (row.domain == Domain::single && first.element == DType::f64)
    return fmt::format("{} of f64 is not available; cast to f32 and back where f32's precision is enough",
                       row.name);
  if (!in_domain(row.domain, first.element))
    return fmt::format("{} is not defined for {}", row.name, heddle::to_string(first.element));
  return {};
}

std::string check_view_access(const Op& op, size_t first_offset, const Type& tile, bool has_fill) {
  const Type& view = op.operands[0]->type;
  if (view.kind != Type::Kind::view) return fmt::format("a view is expected, not {}", to_string(view));
  if (tile.kind != Type::Kind::data || tile.element != view.element)
    return fmt::format("the tile's type {} does not match the view's {}", to_string(tile), to_string(view));
  if (tile.rank > view.rank)
    return fmt::format("a tile of rank {} does not fit a view of rank {}", int(tile.rank), int(view.rank));
  const size_t offsets = op.operands.size() - first_offset - (has_fill ? 1 : 0);
  if (offsets != view.rank)
    return fmt::format("a view of rank {} takes {} offsets, not {}", int(view.rank), int(view.rank), offsets);
  for (size_t i = 0; i < offsets; ++i)
    if (!is_index(op.operands[first_offset + i])) return "offsets into a view are i64 scalars";
  if (has_fill && op.operands.back()->type != Type::scalar(view.element))
    return fmt::format("the fill is {}, but the view holds {}", to_string(op.operands.back()->type),
                       heddle::to_string(view.element));
  return {};
}

std::string check_mask(const Value* mask, const Type& pointers) {
  if (mask->type != pointers.with_kind(Type::Kind::data).with_element(DType::i1))
    return fmt::format("the mask is {}, but the pointers are {}", to_string(mask->type), to_string(pointers));
  return {};
}

std::string check_pointers(const Value* pointers) {
  if (pointers->type.kind != Type::Kind::pointer)
    return fmt::format("pointers are expected, not {}", to_string(pointers->type));
  return {};
}

// Ops of machine programs.
bool is_words(const Type& type) {
  return type.is_tile() && type.rank == 2 && type.element == DType::i32;
}

std::string check_buffer(const Op& op, size_t operand) {
  const Type& type = op.operands[operand]->type;
  if (type.kind != Type::Kind::shared)
    return fmt::format("a shared buffer is expected, not {}", to_string(type));
  if (!is_index(op.operands[operand + 1])) return "a buffer's slot is an i64 scalar";
  return {};
}

std::string check_machine(const Op& op) {
  switch (op.code) {
    case Opcode::shared_buffer: {
      const Type& type = op.results[0]->type;
      if (type.kind != Type::Kind::shared || type.rank < 1) return "shared_buffer gives a shared<...>";
      const int64_t fast = op.attribute(3);
      if (fast < 0 || fast >= type.rank)
        return fmt::format("a buffer of rank {} has no axis {}", int(type.rank), fast);
      if (op.attribute(0) < 0 || op.attribute(0) % 16 || op.attribute(2) % 16 || op.attribute(1) < 1 ||
          op.attribute(2) < type.extents[size_t(fast)].value * size_bytes(type.element))
        return "a buffer starts at a multiple of 16 bytes, has slots, and rows that fit their pitch, a "
               "multiple of 16";
      const int64_t bits = op.attribute(4), to = op.attribute(5), from = op.attribute(6);
      if (bits < 0 || to < 0 || from > 40 || from < to + bits)
        return "a buffer's swizzle takes its bits from above those that it changes";
      return {};
    }
    case Opcode::copy_async: {
      if (std::string message = check_buffer(op, 1); !message.empty()) return message;
      const Type &view = op.operands[0]->type, &buffer = op.operands[1]->type;
      if (view.kind != Type::Kind::view || view.element != buffer.element || buffer.rank != 2 ||
          view.rank < 2 || op.operands.size() != size_t(3 + view.rank))
        return "copy_async takes a view, a buffer of rank 2 of its elements, a slot and an offset for each "
               "axis";
      for (size_t i = 3; i < op.operands.size(); ++i)
        if (!is_index(op.operands[i])) return "offsets into a view are i64 scalars";
      for (int axis = 0; axis < 2; ++axis)
        if (op.attribute(axis) < 1 || op.attribute(axis) > buffer.extents[size_t(axis)].value)
          return "copy_async's tile does not fit the buffer";
      return {};
    }
    case Opcode::store_shared: {
      if (std::string message = check_buffer(op, 1); !message.empty()) return message;
      const Type &value = op.operands[0]->type, &buffer = op.operands[1]->type;
      if (!value.is_tile() || value.element != buffer.element || value.rank != buffer.rank)
        return fmt::format("store_shared puts a tile into a buffer of its kind, not {} into {}",
                           to_string(value), to_string(buffer));
      return {};
    }
    case Opcode::load_shared: {
      if (std::string message = check_buffer(op, 0); !message.empty()) return message;
      const Type &value = op.results[0]->type, &buffer = op.operands[0]->type;
      if (!value.is_tile() || value.element != buffer.element || value.rank != buffer.rank)
        return fmt::format("load_shared can't take {} from {}", to_string(value), to_string(buffer));
      return {};
    }
    case Opcode::mma:
      for (const size_t i : {0, 2})
        if (std::string message = check_buffer(op, i); !message.empty()) return message;
      if (op.operands[0]->type.rank != 2 || op.operands[2]->type.rank != 2 ||
          op.operands[0]->type.element != op.operands[2]->type.element || !op.operands[4]->type.is_tile() ||
          op.results[0]->type != op.operands[4]->type)
        return "mma multiplies two buffers of rank 2 onto an accumulator";
      return {};
    case Opcode::load_fragments:
      if (std::string message = check_buffer(op, 0); !message.empty()) return message;
      if (op.operands[0]->type.rank != 2 || !is_words(op.results[0]->type))
        return "load_fragments takes words of a tile of rank 2 from a buffer";
      return {};
    case Opcode::mma_fragments:
      if (!is_words(op.operands[0]->type) || !is_words(op.operands[1]->type) ||
          !op.operands[2]->type.is_tile() || op.results[0]->type != op.operands[2]->type)
        return "mma_fragments multiplies the words of two operands onto an accumulator";
      return {};
    default: return {};
  }
}

// Rules beyond what infer() says, for ops outside the elementwise rows.
std::string check_structured(const Op& op) {
  auto operand = [&](int i) -> const Type& { return op.operands[i]->type; };
  const Type result = op.results.empty() ? Type{} : op.results[0]->type;
  switch (op.code) {
    case Opcode::constant:
      if (result.kind != Type::Kind::data) return "a constant is data";
      if (op.attributes[0].dim != Extent::kLiteral && !is_integer(result.element))
        return fmt::format("a dim's number is an integer, not {}", heddle::to_string(result.element));
      return {};
    case Opcode::arange:
      if (!result.is_tile() || result.rank != 1 || result.element != DType::i64)
        return "arange gives tile<i64, D>";
      return {};
    case Opcode::cast:
      if (!is_data(op.operands[0]) || result.kind != Type::Kind::data || !same_shape(operand(0), result))
        return fmt::format("cast keeps the shape: {} to {}", to_string(operand(0)), to_string(result));
      return {};
    case Opcode::bitcast:
      if (!is_data(op.operands[0]) || result.kind != Type::Kind::data || !same_shape(operand(0), result) ||
          bit_width(operand(0).element) != bit_width(result.element))
        return fmt::format("bitcast keeps shape and width: {} to {}", to_string(operand(0)),
                           to_string(result));
      return {};
    case Opcode::broadcast: {
      const Type& from = operand(0);
      if (from.kind != result.kind || from.element != result.element ||
          (from.kind != Type::Kind::data && from.kind != Type::Kind::pointer))
        return fmt::format("broadcast changes the shape alone: {} to {}", to_string(from), to_string(result));
      if (from.rank == 0) return {};
      if (from.rank != result.rank)
        return fmt::format("broadcast keeps the rank: {} to {}", to_string(from), to_string(result));
      for (int i = 0; i < from.rank; ++i)
        if (from.extents[i].value != 1 && from.extents[i].value != result.extents[i].value)
          return fmt::format("broadcast stretches extents of 1 alone: {} to {}", to_string(from),
                             to_string(result));
      return {};
    }
    case Opcode::load: {
      if (std::string message = check_pointers(op.operands[0]); !message.empty()) return message;
      if (op.operands.size() > 1)
        if (std::string message = check_mask(op.operands[1], operand(0)); !message.empty()) return message;
      if (op.operands.size() > 2 && operand(2) != operand(0).with_kind(Type::Kind::data))
        return fmt::format("the fill is {}, but the pointers are {}", to_string(operand(2)),
                           to_string(operand(0)));
      return {};
    }
    case Opcode::store: {
      if (std::string message = check_pointers(op.operands[0]); !message.empty()) return message;
      if (operand(1) != operand(0).with_kind(Type::Kind::data))
        return fmt::format("the value is {}, but the pointers are {}", to_string(operand(1)),
                           to_string(operand(0)));
      return op.operands.size() > 2 ? check_mask(op.operands[2], operand(0)) : std::string();
    }
    case Opcode::load_view: return check_view_access(op, 1, result, op.attribute(0) != 0);
    case Opcode::store_view: return check_view_access(op, 2, operand(1), false);
    case Opcode::tile_id:
      if (op.attributes.size() != op.operands.size() || op.results.size() != op.operands.size())
        return "tile_id takes one tile size and gives one offset for each extent of the work space";
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (!is_index(op.operands[i]) || !is_index(op.results[i])) return "tile_id works in i64";
      return {};
    case Opcode::for_loop:
      for (int i = 0; i < 3; ++i)
        if (!is_index(op.operands[i])) return "a loop's bounds and step are i64 scalars";
      if (op.results.size() + 3 != op.operands.size() ||
          op.regions[0]->arguments.size() != op.results.size() + 1)
        return "a loop has as many results and region arguments as initial states (and the index)";
      return {};
    case Opcode::if_else:
      if (operand(0) != Type::scalar(DType::i1)) return "the condition is an i1 scalar";
      return {};
    case Opcode::variable:
      if (result != operand(0).with_kind(Type::Kind::variable))
        return "a variable holds its initial value's type";
      return {};
    case Opcode::write_variable:
      if (!is_data(op.operands[1]) || operand(0) != operand(1).with_kind(Type::Kind::variable))
        return fmt::format("{} can't hold {}", to_string(operand(0)), to_string(operand(1)));
      return {};
    default: return {};
  }
}

}  // namespace

DType accumulator(DType operand) {
  switch (operand) {
    case DType::f64: return DType::f64;
    case DType::i8: return DType::i32;
    default: return DType::f32;
  }
}

Type infer(Opcode code, const std::vector<Value*>& operands, const std::vector<Extent>& attributes) {
  const OpInfo& row = info(code);
  if (int(operands.size()) < row.min_operands) return {};
  if (row.elementwise) return infer_elementwise(row, operands);
  const Type first = operands.empty() ? Type{} : operands[0]->type;
  const int64_t last_attribute = attributes.empty() ? -1 : attributes.back().value;
  switch (code) {
    case Opcode::select:
      if (!is_data(operands[1]) || operands[1]->type != operands[2]->type ||
          first != operands[1]->type.with_element(DType::i1))
        return {};
      return operands[1]->type;
    case Opcode::expand:
      if (!has_shape(first) || first.rank >= kMaxRank || last_attribute < 0 || last_attribute > first.rank)
        return {};
      return with_axis(first, int(last_attribute));
    case Opcode::squeeze:
      if (!has_shape(first) || last_attribute < 0 || last_attribute >= first.rank ||
          first.extents[last_attribute].value != 1)
        return {};
      return without_axis(first, int(last_attribute));
    case Opcode::transpose: {
      if (!has_shape(first) || first.rank < 2) return {};
      Type swapped = first;
      std::swap(swapped.extents[first.rank - 1], swapped.extents[first.rank - 2]);
      return swapped;
    }
    case Opcode::dot: {
      const Type &b = operands[1]->type, &c = operands[2]->type;
      const bool shapes = first.is_tile() && b.is_tile() && first.rank == 2 && b.rank == 2 && c.rank == 2 &&
                          first.extents[1].value == b.extents[0].value &&
                          c.extents[0].value == first.extents[0].value &&
                          c.extents[1].value == b.extents[1].value;
      const bool elements = first.element == b.element && c.element == accumulator(first.element) &&
                            (is_floating(first.element) || first.element == DType::i8);
      return shapes && elements && c.is_tile() ? c : Type{};
    }
    case Opcode::reduce: {
      if (!first.is_tile() || last_attribute < 0 || last_attribute >= first.rank || attributes.size() != 2 ||
          attributes[0].value < 0 || attributes[0].value > int64_t(ReduceKind::min) ||
          !in_domain(Domain::number, first.element))
        return {};
      Type reduced = first;
      reduced.extents[last_attribute] = {.value = 1};
      return reduced;
    }
    case Opcode::view_extent:
    case Opcode::view_stride:
      if (first.kind != Type::Kind::view || last_attribute < 0 || last_attribute >= first.rank) return {};
      return Type::scalar(DType::i64);
    case Opcode::pointer_add:
      if (first.kind != Type::Kind::pointer || operands[1]->type.element != DType::i64 ||
          !is_data(operands[1]) || !same_shape(first, operands[1]->type))
        return {};
      return first;
    case Opcode::load: return first.kind == Type::Kind::pointer ? first.with_kind(Type::Kind::data) : Type{};
    case Opcode::program_id:
      return last_attribute >= 0 && last_attribute < 3 ? Type::scalar(DType::i64) : Type{};
    case Opcode::worker_id: return Type::scalar(DType::i64);
    case Opcode::work_param:
      return last_attribute >= 0 && last_attribute < kWorkParams ? Type::scalar(DType::i64) : Type{};
    case Opcode::variable: return is_data(operands[0]) ? first.with_kind(Type::Kind::variable) : Type{};
    case Opcode::read_variable:
      return first.kind == Type::Kind::variable ? first.with_kind(Type::Kind::data) : Type{};
    default: return {};
  }
}

std::string check(const Op& op) {
  const OpInfo& row = info(op.code);
  const int operands = int(op.operands.size());
  if (operands < row.min_operands || (row.max_operands >= 0 && operands > row.max_operands))
    return fmt::format("{} does not take {} operands", row.name, operands);
  if (row.results >= 0 && int(op.results.size()) != row.results)
    return fmt::format("{} has {} result(s), not {}", row.name, row.results, op.results.size());
  if (int(op.regions.size()) != row.regions)
    return fmt::format("{} has {} region(s), not {}", row.name, row.regions, op.regions.size());
  if (const int count = attribute_count(row); count >= 0 && int(op.attributes.size()) != count)
    return fmt::format("{} has {} attribute(s), not {}", row.name, count, op.attributes.size());
  if (row.elementwise)
    if (std::string message = check_elementwise(row, op); !message.empty()) return message;
  if (std::string message = check_structured(op); !message.empty()) return message;
  if (std::string message = check_machine(op); !message.empty()) return message;

  // Ops whose result follows from the operands: it must be that one, and there must be one.
  switch (op.code) {
    case Opcode::constant:
    case Opcode::arange:
    case Opcode::cast:
    case Opcode::bitcast:
    case Opcode::broadcast:
    case Opcode::load_view:
    case Opcode::shared_buffer:
    case Opcode::load_shared:
    case Opcode::mma:
    case Opcode::load_fragments:
    case Opcode::mma_fragments: return {};
    default: break;
  }
  if (row.results != 1) return {};
  const Type expected = infer(op.code, op.operands, op.attributes);
  if (expected.kind == Type::Kind::none) {
    std::string types;
    for (const Value* operand : op.operands) types += (types.empty() ? "" : ", ") + to_string(operand->type);
    return fmt::format("{} is not defined for ({})", row.name, types);
  }
  if (expected != op.results[0]->type)
    return fmt::format("{} gives {}, not {}", row.name, to_string(expected), to_string(op.results[0]->type));
  return {};
}

}  // namespace heddle::ir
