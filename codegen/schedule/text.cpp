// The text form of schedules, a compact spelling of their JSON:
//   schedule := [ field { ',' field } ]        field := name '=' value
//   value    := number | word | [word] '{' [ item { ',' item } ] '}'        item := field | number | word
// A word alone inside braces is a flag set to true; a number alone is the choice's first field. At the top
// level a name that is no field is a dim.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <string>
#include <string_view>

#include "codegen/ir/fail.h"
#include "codegen/schedule/json.h"

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFields[] = {"dims",    "work",     "order",   "loads", "warps",
                                        "cluster", "epilogue", "swap_ab", "pdl",   "numerics"};

bool is_field(std::string_view name) {
  return std::find(std::begin(kFields), std::end(kFields), name) != std::end(kFields);
}

class TextParser {
 public:
  explicit TextParser(std::string_view text) : text_(text) {}

  Json schedule() {
    Json document = Json::object();
    skip_space();
    while (position_ < text_.size()) {
      const std::string name = word("a field or dim");
      expect('=');
      Json entry = value();
      Json& target = is_field(name) ? document : document["dims"];
      if (&target != &document && !target.is_null() && !target.is_object())
        complain(fmt::format("'dims' is {}, no group that {} could join", target.dump(), name));
      if (target.contains(name)) complain(fmt::format("'{}' is given twice", name));
      target[name] = std::move(entry);
      if (position_ == text_.size()) break;
      expect(',');
    }
    return document;
  }

 private:
  [[noreturn]] void complain(const std::string& what) {
    fail(ErrorKind::parse, {}, "schedule: {} at character {} of \"{}\"", what, position_ + 1, text_);
  }
  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])))
      ++position_;
  }
  bool accept(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    skip_space();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) complain(fmt::format("'{}' is expected", c));
  }
  bool at_digit() const {
    return position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]));
  }

  std::string word(const char* what) {
    const size_t start = position_;
    while (position_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[position_])) || text_[position_] == '_'))
      ++position_;
    if (position_ == start) complain(fmt::format("{} is expected", what));
    std::string result(text_.substr(start, position_ - start));
    skip_space();
    return result;
  }

  Json number() {
    const std::string digits = word("a number");
    if (digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
      complain(fmt::format("'{}' is no number that fits", digits));
    return std::stoll(digits);
  }

  Json value() {
    if (at_digit()) return number();
    if (accept('{')) return group(/*lone_allowed=*/false);
    std::string name = word("a value");
    if (name == "true") return true;
    if (name == "false") return false;
    if (!accept('{')) return name;
    Json choice = Json::object();
    choice[name] = group(/*lone_allowed=*/true);
    return choice;
  }

  // What stands between braces; a choice may hold one lone number instead of fields.
  Json group(bool lone_allowed) {
    Json fields = Json::object();
    if (accept('}')) return fields;
    if (lone_allowed && at_digit()) {
      Json lone = number();
      expect('}');
      return lone;
    }
    do {
      const std::string name = word("a field");
      if (fields.contains(name)) complain(fmt::format("'{}' is given twice", name));
      fields[name] = accept('=') ? scalar() : Json(true);
    } while (accept(','));
    expect('}');
    return fields;
  }

  Json scalar() {
    if (at_digit()) return number();
    const std::string name = word("a value");
    if (name == "true" || name == "false") return name == "true";
    return name;
  }

  std::string_view text_;
  size_t position_ = 0;
};

std::string scalar_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string group_text(const Json& fields) {
  std::string out;
  for (const auto& [name, value] : fields.items())
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", name, scalar_text(value));
  return "{" + out + "}";
}

bool is_choice(std::string_view field) {
  return field == "work" || field == "order" || field == "warps" || field == "numerics";
}

std::string text_of(const Schedule& schedule) {
  std::string out;
  auto add = [&](const std::string& piece) { out += (out.empty() ? "" : ", ") + piece; };
  const Json document = codegen::to_json(schedule);
  for (const auto& [name, value] : document.items()) {
    if (name == "dims") {
      const auto& dims = value;
      const bool clash = std::any_of(dims.items().begin(), dims.items().end(),
                                     [](const auto& item) { return is_field(item.key()); });
      if (clash)
        add("dims=" + group_text(dims));
      else
        for (const auto& [dim, number] : dims.items())
          add(fmt::format("{}={}", dim, number.template get<int64_t>()));
    } else if (is_choice(name) && value.is_object()) {
      const auto item = value.items().begin();
      add(fmt::format("{}={}{}", name, item.key(), group_text(item.value())));
    } else if (value.is_object()) {
      add(fmt::format("{}={}", name, group_text(value)));
    } else {
      add(fmt::format("{}={}", name, scalar_text(value)));
    }
  }
  return out;
}

int64_t copy_out(const std::string& text, char* buffer, int64_t size) {
  if (buffer && size > 0) {
    const size_t length = std::min(text.size(), size_t(size - 1));
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
  }
  return int64_t(text.size());
}

}  // namespace

int64_t print(const Schedule& schedule, char* buffer, int64_t size) {
  return copy_out(text_of(schedule), buffer, size);
}

int64_t print_json(const Schedule& schedule, char* buffer, int64_t size) {
  return copy_out(codegen::to_json(schedule).dump(), buffer, size);
}

Schedule parse_schedule(const char* text) {
  if (!text) fail(ErrorKind::parse, {}, "schedule: the text is null");
  const std::string_view view(text);
  const size_t first = view.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || view[first] != '{')
    return codegen::schedule_from_json(TextParser(view).schedule());
  // No schedule nests deeper than dims/work/fields; a depth limit keeps hostile text from exhausting the
  // stack.
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    if (depth > 4) fail(ErrorKind::parse, {}, "schedule: the JSON is nested more than 4 deep");
    return true;
  };
  const Json document = Json::parse(view, shallow, /*allow_exceptions=*/false);
  if (document.is_discarded()) fail(ErrorKind::parse, {}, "schedule: this is not well-formed JSON: {}", text);
  return codegen::schedule_from_json(document);
}

}  // namespace heddle
