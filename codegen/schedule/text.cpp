// The text form of schedules, a compact spelling of their JSON:
//   schedule := [ field { ',' field } ]        field := name '=' value
//   value    := number | word | [word] '{' [ item { ',' item } ] '}'        item := field | number | word
// A word alone inside braces is a flag set to true; a number alone is the choice's first field. At the top
// level a name that is no field is a dim.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ir/fail.h"
#include "codegen/schedule/json.h"

namespace heddle {

namespace {

using Json = nlohmann::ordered_json;
using codegen::is_schedule_field;
using codegen::json_text;

class TextParser {
 public:
  explicit TextParser(std::string_view text) : text_(text) {}

  Json schedule() {
    Json document = Json::object();
    skip_space();
    if (position_ == text_.size()) return document;
    do {
      const std::string name = word("a field or dim");
      expect('=');
      Json entry = value();
      if (is_schedule_field(name)) {
        add(document, name, std::move(entry));
        continue;
      }
      if (!entry.is_number())
        complain(fmt::format("'{}' is none of the fields ({}), and a dim takes a number, not {},", name,
                             codegen::schedule_field_list(), json_text(entry)));
      Json& dims = document["dims"];
      if (!dims.is_null() && !dims.is_object())
        complain(fmt::format("'dims' is {}, no group that {} could join", json_text(dims), name));
      add(dims, name, std::move(entry));
    } while (accept(','));
    if (position_ < text_.size()) complain("',' is expected");
    return document;
  }

 private:
  [[noreturn]] void complain(const std::string& what) {
    fail(ErrorKind::parse, {}, "schedule: {} at character {} of \"{}\"", what, position_ + 1, text_);
  }
  void add(Json& group, const std::string& name, Json value) {
    if (group.contains(name)) complain(fmt::format("'{}' is given twice", name));
    if (group.size() == codegen::kMostNames)
      complain(fmt::format("more than {} names are given", codegen::kMostNames));
    group[name] = std::move(value);
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
  // Bytes of letters beyond ASCII too: dims are called as C++ lets them be.
  static bool is_word_byte(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) || c == '_' || byte >= 0x80;
  }
  bool at_digit() const {
    return position_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[position_]));
  }

  std::string word(const char* what) {
    const size_t start = position_;
    while (position_ < text_.size() && is_word_byte(text_[position_])) ++position_;
    if (position_ == start) complain(fmt::format("{} is expected", what));
    std::string result(text_.substr(start, position_ - start));
    skip_space();
    return result;
  }

  Json number() {
    const std::string digits = word("a number");
    int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      complain(fmt::format("'{}' is no number that fits", digits));
    return value;
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
      add(fields, name, accept('=') ? scalar() : Json(true));
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
  return value.is_string() ? value.get<std::string>() : json_text(value);
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
                                     [](const auto& item) { return is_schedule_field(item.key()); });
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

// Watches JSON as it is parsed: for what a schedule never has, and for names given twice, of which the parser
// would keep the last.
class JsonGuard {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    // A limit keeps hostile text from exhausting the stack.
    if (depth > 4) fail(ErrorKind::parse, {}, "schedule: the JSON is nested more than 4 deep");
    if (event == Json::parse_event_t::object_start) names_.emplace_back();
    if (event == Json::parse_event_t::object_end) names_.pop_back();
    if (event == Json::parse_event_t::key) {
      if (!names_.back().insert(parsed.get<std::string>()).second)
        fail(ErrorKind::parse, {}, "schedule: {} is given twice in one group", json_text(parsed));
      if (names_.back().size() > codegen::kMostNames)
        fail(ErrorKind::parse, {}, "schedule: more than {} names are given in one group",
             codegen::kMostNames);
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> names_;  // of the objects that are open
};

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
  return copy_out(json_text(codegen::to_json(schedule)), buffer, size);
}

Schedule parse_schedule(const char* text) {
  if (!text) fail(ErrorKind::parse, {}, "schedule: the text is null");
  const std::string_view view(text);
  const size_t first = view.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || view[first] != '{')
    return codegen::schedule_from_json(TextParser(view).schedule());
  JsonGuard guard;
  const Json document = Json::parse(view, std::ref(guard), /*allow_exceptions=*/false);
  if (document.is_discarded()) fail(ErrorKind::parse, {}, "schedule: this is not well-formed JSON: {}", text);
  return codegen::schedule_from_json(document);
}

}  // namespace heddle
