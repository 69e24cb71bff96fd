#include "tests/support/golden.h"

#include <fmt/format.h>

#include <optional>
#include <regex>
#include <vector>

#include "codegen/ir/error.h"
#include "codegen/ir/parse.h"
#include "codegen/ir/print.h"
#include "codegen/ir/verify.h"
#include "codegen/passes/canonicalise.h"
#include "codegen/passes/check_partial.h"
#include "codegen/passes/expand_math.h"
#include "codegen/passes/fuse_dots.h"
#include "codegen/passes/order.h"
#include "codegen/passes/promote_variables.h"
#include "codegen/passes/remove_dead.h"
#include "codegen/schedule/lower.h"

namespace heddle::test {

namespace {

enum class Kind : uint8_t { anywhere, next, absent };

struct Expectation {
  Kind kind;
  int line;  // in the golden text
  std::string words;
};

struct Golden {
  std::vector<std::string> passes;
  std::vector<Expectation> expectations;
  std::string program;  // with blank lines for the directives, so that line numbers stay
};

// Thrown for a text that is no golden test.
struct Malformed {
  std::string message;
};

std::string squeeze(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Golden read(std::string_view text) {
  Golden golden;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (!line.starts_with("//")) {
      golden.program += line + "\n";
      continue;
    }
    golden.program += "\n";
    const std::string comment = squeeze(line.substr(2));
    const size_t colon = comment.find(':');
    const std::string name = comment.substr(0, colon);
    if (!name.starts_with("CHECK") && !name.starts_with("RUN")) continue;  // a remark
    const std::string rest = colon == comment.npos ? "" : squeeze(comment.substr(colon + 1));
    if (rest.empty()) throw Malformed{fmt::format("line {}: {} of nothing", number, name)};
    if (name == "RUN") {
      if (!golden.passes.empty()) throw Malformed{fmt::format("line {}: a second RUN", number)};
      for (const std::string& pass : split(rest, '|')) golden.passes.push_back(squeeze(pass));
    } else if (name == "CHECK") {
      golden.expectations.push_back({Kind::anywhere, number, rest});
    } else if (name == "CHECK-NEXT") {
      golden.expectations.push_back({Kind::next, number, rest});
    } else if (name == "CHECK-NOT") {
      golden.expectations.push_back({Kind::absent, number, rest});
    } else {
      throw Malformed{fmt::format("line {}: {} is no directive", number, name)};
    }
  }
  if (golden.passes.empty()) throw Malformed{"no RUN line says which passes to run"};
  if (golden.expectations.empty()) throw Malformed{"no CHECK line says what to expect"};
  return golden;
}

void run_pass(const std::string& words, std::unique_ptr<ir::Function>& function) {
  const size_t blank = words.find(' ');
  const std::string name = words.substr(0, blank);
  if (name == "promote_variables") return codegen::promote_variables(*function);
  if (name == "check_partial") return codegen::check_partial(*function);
  if (name == "canonicalise") return codegen::canonicalise(*function);
  if (name == "order_by_use") return codegen::order_by_use(*function);
  if (name == "expand_math") return codegen::expand_math(*function);
  if (name == "remove_dead") return void(codegen::remove_dead(*function));
  if (name == "fuse_dots") return void(codegen::fuse_dots(*function));
  if (name == "lower_schedule") {
    const std::string text = blank == words.npos ? "" : words.substr(blank + 1);
    const Schedule schedule = parse_schedule(text.c_str());
    codegen::check_schedule(*function, schedule, codegen::Target::cpu, {});
    function = codegen::lower_schedule(*function, schedule);
    return;
  }
  throw Malformed{fmt::format("there is no pass '{}'", name)};
}

std::string output_of(const Golden& golden) {
  try {
    std::unique_ptr<ir::Function> function = ir::parse(golden.program);
    for (const std::string& pass : golden.passes) {
      run_pass(pass, function);
      ir::verify(*function);
    }
    return ir::print(*function);
  } catch (const Error& error) {
    return fmt::format("error: {}\n", error.message());
  }
}

std::regex pattern(const std::string& words) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string out;
  if (is_word(words.front())) out += "\\b";
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t end = words.compare(i, 2, "{{") == 0 ? words.find("}}", i) : words.npos;
    if (end != words.npos) {
      out += "(?:" + words.substr(i + 2, end - i - 2) + ")";
      i = end + 1;
    } else {
      if (!is_word(words[i]) && words[i] != ' ') out += '\\';
      out += words[i];
    }
  }
  if (is_word(words.back())) out += "\\b";
  return std::regex(out);
}

}  // namespace

std::string golden_complaint(std::string_view text) {
  std::string output;
  Golden golden;
  try {
    golden = read(text);
    output = output_of(golden);
  } catch (const Malformed& malformed) {
    return malformed.message;
  }
  std::vector<std::string> lines;
  for (const std::string& line : split(output, '\n')) lines.push_back(squeeze(line));

  const auto complain = [&](const Expectation& expectation, std::string_view what) {
    return fmt::format("line {}: '{}' {}; the output is\n{}", expectation.line, expectation.words, what,
                       output);
  };
  const auto find = [&](const std::string& words, size_t from, size_t end) -> std::optional<size_t> {
    const std::regex wanted = pattern(words);
    for (size_t i = from; i < end; ++i)
      if (std::regex_search(lines[i], wanted)) return i;
    return {};
  };
  size_t at = 0;  // the first line behind the last match
  std::vector<const Expectation*> absent;
  const auto check_absent = [&](size_t end) -> std::string {
    for (const Expectation* expectation : absent)
      if (find(expectation->words, at, end)) return complain(*expectation, "is there and should not be");
    absent.clear();
    return {};
  };
  for (const Expectation& expectation : golden.expectations) {
    if (expectation.kind == Kind::absent) {
      absent.push_back(&expectation);
      continue;
    }
    const bool next = expectation.kind == Kind::next;
    const auto found = find(expectation.words, at, next ? std::min(at + 1, lines.size()) : lines.size());
    if (!found) return complain(expectation, next ? "is not on the next line" : "is not there");
    if (std::string message = check_absent(*found); !message.empty()) return message;
    at = *found + 1;
  }
  return check_absent(lines.size());
}

}  // namespace heddle::test
