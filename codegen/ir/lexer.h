// Splits the text of a function into tokens. Knows characters and lines, not the grammar.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::ir {

struct Token {
  enum class Kind : uint8_t { end, word, number, value, string, punctuation };
  Kind kind = Kind::end;
  std::string_view
      text;  // as written; of a value, the digits after %; of a string, what is between the quotes
  int line = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { advance(); }

  const Token& peek() const { return token_; }
  Token take();  // the current token; moves on
  bool at(std::string_view punctuation_or_word) const;
  bool accept(std::string_view punctuation_or_word);  // takes the token if it is that one
  void expect(std::string_view punctuation_or_word);

  // Throws Error (parse): "line 3: expected <what>, found '...'".
  [[noreturn]] void fail_expected(std::string_view what) const;
  // Throws Error (parse): "line 3: <message>".
  [[noreturn]] static void fail_at(int line, std::string_view message);

 private:
  void advance();

  std::string_view rest_;
  int line_ = 1;
  Token token_;
};

// The text of a string token with its escapes resolved: \" \\ \xhh.
std::string unquoted(const Token& token);

}  // namespace heddle::ir
