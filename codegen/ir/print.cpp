// Printer. Values are numbered as they appear in the text.
#include "codegen/ir/print.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "codegen/ir/evaluate.h"

namespace heddle::ir {

namespace {

bool is_plain_name(const std::string& name) {
  if (name.empty()) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(options) {}

  std::string run(const Function& function) {
    out_ += "kernel @";
    out_ += is_plain_name(function.name) ? function.name : quoted(function.name);
    out_ += '(';
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      const Parameter& parameter = function.parameters[i];
      if (i) out_ += ", ";
      definition(parameter.value);
      out_ += ": " + to_string(parameter.value->type);
      if (parameter.read_only) out_ += " const";
      if (parameter.facts.unit_stride_axis >= 0) append(" unit({})", int(parameter.facts.unit_stride_axis));
      if (parameter.facts.aligned16) out_ += " aligned";
    }
    out_ += ')';
    for (size_t i = 0; i < function.dims.size(); ++i)
      append("{}d{} = {}", i ? ", " : " dims(", i, function.dims[i].value);
    if (!function.dims.empty()) out_ += ')';
    if (function.warps)
      append(" warps {} ctas {} shared {}", function.warps, function.ctas, function.shared_bytes);
    out_ += " {\n";
    for (size_t i = 0; i < function.layouts.size(); ++i)
      append("  layout {} = {}\n", i, to_string(function.layouts[i]));
    ops(function.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  void definition(const Value* value) {
    const int number = int(numbers_.size());
    numbers_[value] = number;
    append("%{}", number);
  }

  void use(const Value* value) {
    const auto found = numbers_.find(value);
    if (found == numbers_.end())
      out_ += "%?";
    else
      append("%{}", found->second);
  }

  void location(Location where) {
    if (options_.locations && where.known()) append(" @ {}:{}", quoted(where.file), where.line);
  }

  void attributes(const Op& op) {
    const OpInfo& row = info(op.code);
    if (op.code == Opcode::constant || op.attributes.empty()) return;
    for (size_t i = 0; i < op.attributes.size(); ++i) {
      out_ += i ? ", " : " {";
      const std::string_view name = attribute_name(row, i);
      if (!name.empty()) append("{} = ", name);
      const Extent attribute = op.attributes[i];
      if (op.code == Opcode::reduce && i == 0 && attribute.value >= 0 &&
          attribute.value <= int(ReduceKind::min))
        out_ += to_string(ReduceKind(attribute.value));
      else if (name == kElementAttribute && attribute.value >= 0 && attribute.value < int(DType::f64) + 1)
        out_ += heddle::to_string(DType(attribute.value));
      else
        out_ += to_string(attribute);
    }
    out_ += '}';
  }

  void op(const Op& op, int depth) {
    out_.append(2 * depth, ' ');
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (i) out_ += ", ";
      definition(op.results[i]);
    }
    if (!op.results.empty()) out_ += " = ";
    out_ += info(op.code).name;
    if (op.code == Opcode::constant && !op.results.empty() && !op.attributes.empty())
      out_ += ' ' + print_constant(op.results[0]->type.element, op.attributes[0]);
    for (size_t i = 0; i < op.operands.size(); ++i) {
      out_ += i ? ", " : " ";
      use(op.operands[i]);
    }
    attributes(op);
    for (size_t i = 0; i < op.results.size(); ++i) {
      out_ += i ? ", " : " : ";
      out_ += to_string(op.results[i]->type);
    }
    location(op.where);
    for (const Region* region : op.regions) {
      out_ += " {\n";
      arguments(*region, depth);
      ops(*region, depth + 1);
      out_.append(2 * depth, ' ');
      out_ += '}';
    }
    out_ += '\n';
  }

  void arguments(const Region& region, int depth) {
    if (region.arguments.empty()) return;
    out_.append(2 * depth, ' ');
    for (size_t i = 0; i < region.arguments.size(); ++i) {
      out_ += i ? ", " : "^(";
      definition(region.arguments[i]);
      out_ += ": " + to_string(region.arguments[i]->type);
      location(region.arguments[i]->where);
    }
    out_ += ")\n";
  }

  void ops(const Region& region, int depth) {
    for (const Op* inner : region.ops) op(*inner, depth);
  }

  PrintOptions options_;
  std::string out_;
  std::unordered_map<const Value*, int> numbers_;
};

}  // namespace

std::string print(const Function& function, PrintOptions options) {
  return Printer(options).run(function);
}

int64_t normalise_payload(DType type, int64_t payload) {
  return payload_of_lane(type, lane_of_payload(type, payload));
}

std::string print_constant(DType type, Extent payload) {
  if (payload.dim != Extent::kLiteral) return to_string(payload);
  payload.value = normalise_payload(type, payload.value);
  if (type == DType::i1) return payload.value ? "true" : "false";
  if (!is_any_float(type)) return fmt::format("{}", payload.value);
  const double value = float_payload(payload.value);
  if (std::isnan(value)) {
    if (payload.value == constant_payload(type, std::numeric_limits<double>::quiet_NaN())) return "nan";
    return fmt::format("nan(0x{:016x})", uint64_t(payload.value));
  }
  // Shortest text that reads back as the same number: as an f32 wherever that holds the type.
  return type == DType::f64 ? fmt::format("{}", value) : fmt::format("{}", float(value));
}

std::string_view attribute_name(const OpInfo& row, size_t index) {
  std::string_view names = row.attributes;
  if (names == "*") return {};
  for (; index > 0; --index) {
    const size_t comma = names.find(',');
    if (comma == names.npos) return {};
    names.remove_prefix(comma + 1);
  }
  return names.substr(0, names.find(','));
}

}  // namespace heddle::ir
