// Lexer: comments run from // to the end of the line.
#include "codegen/ir/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "codegen/ir/fail.h"

namespace heddle::ir {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// A number's extent: digits, letters, points, and signs that stand first or after an exponent's e.
size_t number_length(std::string_view text) {
  size_t i = 1;
  while (i < text.size() &&
         (is_digit(text[i]) || is_letter(text[i]) || text[i] == '.' ||
          ((text[i] == '+' || text[i] == '-') && (text[i - 1] == 'e' || text[i - 1] == 'E'))))
    ++i;
  return i;
}

// What a message shows of a token: short, and printable whatever the input held.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out + (text.size() > 40 ? "..." : "");
}

}  // namespace

void Lexer::advance() {
  for (;;) {
    if (rest_.empty()) {
      token_ = {.kind = Token::Kind::end, .text = rest_, .line = line_};
      return;
    }
    if (rest_[0] == '\n') ++line_;
    if (rest_[0] == '\n' || rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r')
      rest_.remove_prefix(1);
    else if (rest_.starts_with("//"))
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    else
      break;
  }
  const auto cut = [&](Token::Kind kind, size_t skip, size_t length, size_t after = 0) {
    token_ = {.kind = kind, .text = rest_.substr(skip, length), .line = line_};
    rest_.remove_prefix(skip + length + after);
  };
  const char c = rest_[0];
  const char next = rest_.size() > 1 ? rest_[1] : '\0';
  if (is_letter(c)) {
    size_t i = 1;
    while (i < rest_.size() && (is_letter(rest_[i]) || is_digit(rest_[i]))) ++i;
    cut(Token::Kind::word, 0, i);
  } else if (is_digit(c) || (c == '-' && (is_digit(next) || is_letter(next)))) {
    cut(Token::Kind::number, 0, number_length(rest_));
  } else if (c == '%' && is_digit(next)) {
    size_t i = 1;
    while (i < rest_.size() && is_digit(rest_[i])) ++i;
    cut(Token::Kind::value, 1, i - 1);
  } else if (c == '"') {
    size_t i = 1;
    while (i < rest_.size() && rest_[i] != '"' && rest_[i] != '\n') i += rest_[i] == '\\' ? 2 : 1;
    if (i >= rest_.size() || rest_[i] != '"') fail_at(line_, "a string lacks its closing quote");
    cut(Token::Kind::string, 1, i - 1, 1);
  } else if (std::string_view("(){}<>,:=^@#-").find(c) != std::string_view::npos) {
    cut(Token::Kind::punctuation, 0, 1);
  } else {
    fail_at(line_, fmt::format("'{}' begins no token", shown(rest_.substr(0, 1))));
  }
}

Token Lexer::take() {
  const Token taken = token_;
  advance();
  return taken;
}

bool Lexer::at(std::string_view text) const {
  return (token_.kind == Token::Kind::word || token_.kind == Token::Kind::punctuation) && token_.text == text;
}

bool Lexer::accept(std::string_view text) {
  if (!at(text)) return false;
  advance();
  return true;
}

void Lexer::expect(std::string_view text) {
  if (!accept(text)) fail_expected(fmt::format("'{}'", text));
}

void Lexer::fail_expected(std::string_view what) const {
  if (token_.kind == Token::Kind::end)
    fail_at(token_.line, fmt::format("expected {}, found the end of the text", what));
  const char* sigil = token_.kind == Token::Kind::value ? "%" : "";
  fail_at(token_.line, fmt::format("expected {}, found '{}{}'", what, sigil, shown(token_.text)));
}

void Lexer::fail_at(int line, std::string_view message) {
  fail(ErrorKind::parse, {}, "line {}: {}", line, message);
}

std::string unquoted(const Token& token) {
  std::string out;
  for (size_t i = 0; i < token.text.size(); ++i) {
    if (token.text[i] != '\\') {
      out += token.text[i];
    } else if (const char c = token.text[i + 1];
               c == '"' || c == '\\') {  // a token never ends in a lone backslash
      out += c;
      ++i;
    } else {
      unsigned code = 0;
      const char* digits = token.text.data() + i + 2;
      if (c != 'x' || i + 3 >= token.text.size() ||
          std::from_chars(digits, digits + 2, code, 16).ptr != digits + 2)
        Lexer::fail_at(token.line, "a backslash in a string is followed by \", \\ or x and two hex digits");
      out += char(code);
      i += 3;
    }
  }
  return out;
}

}  // namespace heddle::ir
