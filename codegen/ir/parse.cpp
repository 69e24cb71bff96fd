// Parser: recursive descent over Lexer's tokens; types and laws are check.h's and verify.h's affair.
#include "codegen/ir/parse.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

#include "codegen/ir/check.h"
#include "codegen/ir/intern.h"
#include "codegen/ir/lexer.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"

namespace heddle::ir {

namespace {

constexpr int64_t kMaxLanes = int64_t(1) << 31;  // of a tile

bool parse_dtype(std::string_view text, DType& type) {
#define HEDDLE_ROW(name, storage, bits, kind) \
  if (text == #name) return type = DType::name, true;
  HEDDLE_DTYPES(HEDDLE_ROW)
#undef HEDDLE_ROW
  return false;
}

// The whole of `text` as a number.
template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  std::unique_ptr<Function> run() {
    lexer_.expect("kernel");
    lexer_.expect("@");
    const Token name = lexer_.peek();
    if (name.kind != Token::Kind::word && name.kind != Token::Kind::string)
      lexer_.fail_expected("the kernel's name");
    function_->name = unquoted(lexer_.take());
    parameters();
    dims();
    if (lexer_.accept("warps")) {
      function_->warps = int(integer("the number of warps"));
      lexer_.expect("ctas");
      function_->ctas = int(integer("CTAs of a multiprocessor"));
      lexer_.expect("shared");
      function_->shared_bytes = integer("bytes of shared memory");
    }
    lexer_.expect("{");
    layouts();
    while (!lexer_.accept("}")) op(function_->body);
    if (lexer_.peek().kind != Token::Kind::end) lexer_.fail_expected("the end of the text");
    if (const auto fault = find_fault(*function_)) {
      const auto found = lines_.find(fault->op);
      Lexer::fail_at(found == lines_.end() ? 1 : found->second, fault->message);
    }
    return std::move(function_);
  }

 private:
  int64_t integer(std::string_view what) {
    const auto value =
        lexer_.peek().kind == Token::Kind::number ? number<int64_t>(lexer_.peek().text) : std::nullopt;
    if (!value) lexer_.fail_expected(what);
    lexer_.take();
    return *value;
  }

  // "d3" → 3.
  static std::optional<int32_t> dim_index(const Token& token) {
    if (token.kind != Token::Kind::word || token.text.size() < 2 || token.text[0] != 'd') return {};
    return number<int32_t>(token.text.substr(1));
  }

  Extent extent(std::string_view what) {
    const auto index = dim_index(lexer_.peek());
    if (!index) return {.value = integer(what)};
    if (*index < 0 || size_t(*index) >= function_->dims.size())
      lexer_.fail_expected(fmt::format("one of the {} dims of the header", function_->dims.size()));
    lexer_.take();
    return {.value = function_->dims[*index].value, .dim = *index};
  }

  DType dtype() {
    DType element{};
    if (lexer_.peek().kind != Token::Kind::word || !parse_dtype(lexer_.peek().text, element))
      lexer_.fail_expected("an element type");
    lexer_.take();
    return element;
  }

  void extents(Type& type) {
    int64_t lanes = 1;
    while (lexer_.accept(",")) {
      if (type.rank == kMaxRank) lexer_.fail_expected(fmt::format("at most {} extents", kMaxRank));
      const Extent next = extent("an extent");
      if (next.value < 1 || next.value > kMaxLanes / lanes)
        Lexer::fail_at(lexer_.peek().line,
                       fmt::format("extents are positive and a tile has at most 2^31 lanes, but "
                                   "one of {} follows {} lanes",
                                   next.value, lanes));
      lanes *= next.value;
      type.extents[type.rank++] = next;
    }
    lexer_.expect(">");
  }

  Type type() {
    Type result{.kind = Type::Kind::data};
    if (lexer_.accept("ptr")) {
      result.kind = Type::Kind::pointer;
      lexer_.expect("<");
      result.element = dtype();
      lexer_.expect(">");
    } else if (lexer_.accept("view")) {
      result.kind = Type::Kind::view;
      lexer_.expect("<");
      result.element = dtype();
      lexer_.expect(",");
      const int64_t rank = integer("a rank");
      if (rank < 1 || rank > kMaxRank)
        Lexer::fail_at(lexer_.peek().line, fmt::format("a view's rank is 1 to {}, not {}", kMaxRank, rank));
      result.rank = uint8_t(rank);
      lexer_.expect(">");
    } else if (lexer_.accept("shared")) {
      result.kind = Type::Kind::shared;
      lexer_.expect("<");
      result.element = dtype();
      extents(result);
    } else if (lexer_.at("tile") || lexer_.at("var")) {
      const bool variable = lexer_.take().text == "var";
      if (variable) result.kind = Type::Kind::variable;
      lexer_.expect("<");
      if (!variable && lexer_.accept("ptr")) {
        result.kind = Type::Kind::pointer;
        lexer_.expect("<");
        result.element = dtype();
        lexer_.expect(">");
      } else {
        result.element = dtype();
      }
      if (!variable && !lexer_.at(",")) lexer_.fail_expected("',' and the tile's extents");
      extents(result);
      if (!variable && lexer_.accept("#")) {
        const int64_t layout = integer("a layout's number");
        if (layout < 0 || layout >= int64_t(function_->layouts.size()) ||
            function_->layouts[size_t(layout)].rank != result.rank)
          Lexer::fail_at(lexer_.peek().line, fmt::format("there is no layout {} of this rank", layout));
        result.layout = int16_t(layout);
      }
    } else {
      result.element = dtype();
    }
    return result;
  }

  void parameters() {
    lexer_.expect("(");
    for (bool first = true; !lexer_.accept(")"); first = false) {
      if (!first) lexer_.expect(",");
      const Token name = value_name();
      lexer_.expect(":");
      Parameter& parameter = function_->add_parameter(type(), false);
      parameter.read_only = lexer_.accept("const");
      define(name, parameter.value);
      if (lexer_.accept("unit")) {
        lexer_.expect("(");
        const int64_t axis = integer("an axis");
        if (parameter.value->type.kind != Type::Kind::view || axis < 0 || axis >= parameter.value->type.rank)
          Lexer::fail_at(name.line, "unit() names an axis of the view it follows");
        parameter.facts.unit_stride_axis = int8_t(axis);
        lexer_.expect(")");
      }
      parameter.facts.aligned16 = lexer_.accept("aligned");
    }
  }

  void dims() {
    if (!lexer_.accept("dims")) return;
    lexer_.expect("(");
    do {
      if (dim_index(lexer_.peek()) != int32_t(function_->dims.size()))
        lexer_.fail_expected(fmt::format("'d{}'", function_->dims.size()));
      std::string name(lexer_.take().text);
      lexer_.expect("=");
      function_->dims.push_back({.name = std::move(name), .value = integer("the dim's number")});
    } while (lexer_.accept(","));
    lexer_.expect(")");
  }

  // "layout 0 = registers 1.0 lanes 1.1 - ... warps ... repeat 1 2", as to_string(Layout) writes them.
  void layouts() {
    while (lexer_.accept("layout")) {
      if (integer("the layout's number") != int64_t(function_->layouts.size()))
        lexer_.fail_expected(fmt::format("'layout {}'", function_->layouts.size()));
      lexer_.expect("=");
      Layout layout;
      lexer_.expect("registers");
      layout.registers = bits();
      lexer_.expect("lanes");
      layout.lanes = bits();
      lexer_.expect("warps");
      layout.warps = bits();
      lexer_.expect("repeat");
      while (lexer_.peek().kind == Token::Kind::number) {
        if (layout.rank == kMaxRank) lexer_.fail_expected(fmt::format("at most {} axes", kMaxRank));
        const int64_t repeat = integer("a repeat");
        if (repeat < 1) lexer_.fail_expected("a positive repeat");
        layout.repeat[size_t(layout.rank++)] = repeat;
      }
      for (const std::vector<Layout::Bit>* list : {&layout.registers, &layout.lanes, &layout.warps})
        for (const Layout::Bit& bit : *list)
          if (bit.axis >= layout.rank)
            Lexer::fail_at(lexer_.peek().line, "a bit moves an axis that is not there");
      if (layout.lanes.size() != Layout::kLaneBits)
        Lexer::fail_at(lexer_.peek().line, "lanes have five bits");
      function_->layouts.push_back(std::move(layout));
    }
  }

  std::vector<Layout::Bit> bits() {
    std::vector<Layout::Bit> list;
    for (;;) {
      if (lexer_.accept("-")) {
        list.emplace_back();
        continue;
      }
      if (lexer_.peek().kind != Token::Kind::number) return list;
      const std::string_view text = lexer_.take().text;
      const size_t dot = text.find('.');
      const auto axis = number<int>(text.substr(0, dot));
      const auto shift = dot == text.npos ? std::nullopt : number<int>(text.substr(dot + 1));
      if (!axis || !shift || *axis < 0 || *axis >= kMaxRank || *shift < 0 || *shift > 31)
        lexer_.fail_expected("a bit as in '1.3': axis 1 by 2^3");
      list.push_back({int8_t(*axis), int8_t(*shift)});
    }
  }

  Token value_name() {
    if (lexer_.peek().kind != Token::Kind::value) lexer_.fail_expected("a value, as in '%0'");
    return lexer_.take();
  }

  void define(const Token& name, Value* value) {
    if (!values_.emplace(name.text, value).second)
      Lexer::fail_at(name.line, fmt::format("%{} is defined twice", name.text));
    defined_.push_back(name.text);
  }

  Value* use() {
    const Token name = value_name();
    const auto found = values_.find(name.text);
    if (found == values_.end() || !found->second)
      Lexer::fail_at(name.line, fmt::format("%{} is not defined here", name.text));
    return found->second;
  }

  void attributes(Op& op) {
    const OpInfo& row = info(op.code);
    const bool unnamed = std::string_view(row.attributes) == "*";
    if (op.code == Opcode::constant || (!unnamed && attribute_name(row, 0).empty())) return;
    lexer_.expect("{");
    for (size_t i = 0; !lexer_.accept("}"); ++i) {
      if (i) lexer_.expect(",");
      if (!unnamed) {
        const std::string_view name = attribute_name(row, i);
        if (name.empty()) lexer_.fail_expected("'}'");
        lexer_.expect(name);
        lexer_.expect("=");
      }
      op.attributes.push_back(op.code == Opcode::reduce && i == 0 ? reduce_kind()
                              : !unnamed && attribute_name(row, i) == kElementAttribute
                                  ? Extent{.value = int64_t(dtype())}
                                  : extent("a number or dim"));
    }
  }

  Extent reduce_kind() {
    for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::product, ReduceKind::max, ReduceKind::min})
      if (lexer_.accept(to_string(kind))) return {.value = int64_t(kind)};
    lexer_.fail_expected("sum, product, max or min");
  }

  // A constant's text comes before its type, which says how to read it.
  struct Literal {
    Token token;
    std::optional<uint64_t> nan_bits;
  };

  Literal literal() {
    Literal result{.token = lexer_.peek(), .nan_bits = {}};
    if (result.token.kind != Token::Kind::number && result.token.kind != Token::Kind::word)
      lexer_.fail_expected("a number, dim, true, false, inf or nan");
    lexer_.take();
    if (result.token.text == "nan" && lexer_.accept("(")) {
      std::string_view digits = lexer_.peek().text;
      uint64_t bits = 0;
      if (digits.size() != 18 || !digits.starts_with("0x") ||
          std::from_chars(digits.data() + 2, digits.data() + 18, bits, 16).ptr != digits.data() + 18 ||
          (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u || (bits & 0x000fffffffffffffu) == 0)
        lexer_.fail_expected("the 16 hex digits of a NaN, as in 0x7ff8000000000001");
      lexer_.take();
      lexer_.expect(")");
      result.nan_bits = bits;
    }
    return result;
  }

  Extent payload(const Literal& literal, DType element) {
    const Token& token = literal.token;
    const auto refuse = [&] [[noreturn]] () {
      Lexer::fail_at(token.line,
                     fmt::format("'{}' is no constant of type {}", token.text, heddle::to_string(element)));
    };
    if (is_any_float(element)) {
      if (literal.nan_bits) return {.value = normalise_payload(element, int64_t(*literal.nan_bits))};
      if (token.text == "nan")
        return {.value = constant_payload(element, std::numeric_limits<double>::quiet_NaN())};
      if (token.text == "inf" || token.text == "-inf") {
        const double infinity = std::numeric_limits<double>::infinity();
        return {.value = constant_payload(element, token.text == "inf" ? infinity : -infinity)};
      }
      std::optional<double> value;
      if (element == DType::f64)
        value = number<double>(token.text);
      else if (const auto narrow = number<float>(token.text))
        value = *narrow;
      if (!value || token.text.find_first_of("nN") != std::string_view::npos) refuse();
      return {.value = normalise_payload(element, constant_payload(element, *value))};
    }
    if (token.text == "true" || token.text == "false") {
      if (element != DType::i1) refuse();
      return {.value = token.text == "true"};
    }
    if (const auto index = dim_index(token)) {
      if (size_t(*index) >= function_->dims.size() || element == DType::i1) refuse();
      return {.value = function_->dims[*index].value, .dim = *index};
    }
    const auto value = number<int64_t>(token.text);
    if (!value || element == DType::i1 || normalise_payload(element, *value) != *value) refuse();
    return {.value = *value};
  }

  Location location() {
    if (!lexer_.accept("@")) return {};
    if (lexer_.peek().kind != Token::Kind::string) lexer_.fail_expected("a quoted file name");
    const std::string file = unquoted(lexer_.take());
    lexer_.expect(":");
    const int64_t line = integer("a line number");
    return {intern(file), uint32_t(line)};
  }

  void op(Region& region) {
    const int line = lexer_.peek().line;
    std::vector<Token> results;
    if (lexer_.peek().kind == Token::Kind::value) {
      do results.push_back(value_name());
      while (lexer_.accept(","));
      lexer_.expect("=");
    }
    Opcode code{};
    if (lexer_.peek().kind != Token::Kind::word || !parse_opcode(lexer_.peek().text, code))
      lexer_.fail_expected(results.empty() ? "an operation or '}'" : "an operation");
    lexer_.take();
    Op* op = function_->new_op(code, {});
    op->parent = &region;
    lines_[op] = line;

    Literal constant;
    if (code == Opcode::constant) constant = literal();
    if (lexer_.peek().kind == Token::Kind::value) {
      // A value on the next line begins the next op: `yield`, say, may have no operands.
      if (lexer_.peek().line == line) {
        do op->operands.push_back(use());
        while (lexer_.accept(","));
      }
    }
    attributes(*op);
    std::vector<Type> types;
    if (lexer_.accept(":")) {
      do types.push_back(type());
      while (lexer_.accept(","));
    } else if (results.size() == 1) {
      types.push_back(infer(code, op->operands, op->attributes));
      if (types[0].kind == Type::Kind::none) lexer_.fail_expected("':' and the type of the result");
    }
    if (types.size() != results.size())
      Lexer::fail_at(line, fmt::format("{} results have {} types", results.size(), types.size()));
    for (const Type& type : types) function_->add_result(*op, type);
    if (code == Opcode::constant) {
      if (op->results.size() != 1) Lexer::fail_at(line, "a constant has one result");
      op->attributes.push_back(payload(constant, op->results[0]->type.element));
    }
    op->where = location();
    for (int i = 0; i < info(code).regions; ++i) inner_region(*op);
    if (const std::string message = check(*op); !message.empty()) Lexer::fail_at(line, message);
    region.ops.push_back(op);
    for (size_t i = 0; i < results.size(); ++i) define(results[i], op->results[i]);
  }

  void inner_region(Op& parent) {
    if (++depth_ > kMaxRegionDepth)
      Lexer::fail_at(lexer_.peek().line, fmt::format("regions nest more than {} deep", kMaxRegionDepth));
    lexer_.expect("{");
    Region* region = function_->new_region(&parent);
    const size_t outside = defined_.size();
    if (lexer_.accept("^")) {
      lexer_.expect("(");
      do {
        const Token name = value_name();
        lexer_.expect(":");
        Value* argument = function_->add_argument(*region, type());
        argument->where = location();
        define(name, argument);
      } while (lexer_.accept(","));
      lexer_.expect(")");
    }
    while (!lexer_.accept("}")) op(*region);
    // Names stay taken, so that one number means one value in the whole text.
    for (size_t i = outside; i < defined_.size(); ++i) values_[defined_[i]] = nullptr;
    defined_.resize(outside);
    --depth_;
  }

  Lexer lexer_;
  std::unique_ptr<Function> function_ = std::make_unique<Function>();
  std::unordered_map<std::string_view, Value*> values_;
  std::unordered_map<const Op*, int> lines_;
  std::vector<std::string_view> defined_;  // the keys of values_ that can be used here, inner ones last
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<Function> parse(std::string_view text) {
  return Parser(text).run();
}

}  // namespace heddle::ir
