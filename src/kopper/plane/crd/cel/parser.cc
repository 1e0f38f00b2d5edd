#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "kopper/plane/crd/cel/ast.h"

namespace kopper::plane::cel {
namespace {

constexpr std::size_t kDeepest = 250;
constexpr std::size_t kLongest = 100'000;
constexpr std::size_t kMostIssues = 30;
constexpr const char* kExpectExpression =
    "expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}";

struct Token {
  enum class Kind : std::uint8_t { End, Sign, Name, Int, Uint, Float, Text, Bytes };
  Kind kind = Kind::End;
  std::size_t at = 0;  // in characters
  std::string_view text;
  std::string value;  // Text, Bytes: without quotes and escapes
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
int hex_of(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void add_rune(std::string& out, std::uint32_t rune) {
  if (rune < 0x80) {
    out += static_cast<char>(rune);
  } else if (rune < 0x800) {
    out += static_cast<char>(0xC0U | rune >> 6U);
    out += static_cast<char>(0x80U | (rune & 0x3FU));
  } else if (rune < 0x10000) {
    out += static_cast<char>(0xE0U | rune >> 12U);
    out += static_cast<char>(0x80U | (rune >> 6U & 0x3FU));
    out += static_cast<char>(0x80U | (rune & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | rune >> 18U);
    out += static_cast<char>(0x80U | (rune >> 12U & 0x3FU));
    out += static_cast<char>(0x80U | (rune >> 6U & 0x3FU));
    out += static_cast<char>(0x80U | (rune & 0x3FU));
  }
}

struct Failure {  // thrown inside the parser only
  Issue issue;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // What is no token is an issue, and skipped.
  std::vector<Issue> issues;

  Token next() {
    while (true)
      if (auto token = try_next()) return std::move(*token);
  }

 private:
  std::optional<Token> try_next() {
    skip_blanks();
    Token out{.at = column_};
    if (at_ >= text_.size()) return out;
    const char c = text_[at_];
    if (const auto prefix = string_prefix()) return quoted(*prefix);
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
    if (is_name(c)) {
      std::size_t end = at_;
      while (end < text_.size() && is_name(text_[end])) ++end;
      out.kind = Token::Kind::Name;
      return take(out, end - at_);
    }
    constexpr std::array<std::string_view, 8> kLong{"==", "!=", "<=", ">=", "&&", "||", "[?", ".?"};
    for (const std::string_view sign : kLong) {
      if (!text_.substr(at_).starts_with(sign)) continue;
      out.kind = Token::Kind::Sign;
      return take(out, sign.size());
    }
    if (std::string_view("!<>[](){}.,-+*/%?:").find(c) == std::string_view::npos) {
      // One that starts a longer token takes along what does not go on with it.
      const bool half = c == '=' || c == '&' || c == '|';
      not_a_token(at_ + (half && at_ + 1 < text_.size() ? 2 : 1));
      return std::nullopt;
    }
    out.kind = Token::Kind::Sign;
    return take(out, 1);
  }

  struct Prefix {
    std::size_t size;
    bool raw;
    bool bytes;
  };

  void not_a_token(std::size_t end) {
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80U) ++end;
    const std::string_view text = text_.substr(at_, end - at_);
    if (issues.size() < kMostIssues)
      issues.push_back({column_, fmt::format("Syntax error: token recognition error at: '{}'", text)});
    step(text.size());
  }

  void step(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++at_)
      if ((static_cast<unsigned char>(text_[at_]) & 0xC0U) != 0x80U) ++column_;
  }

  Token take(Token out, std::size_t count) {
    out.text = text_.substr(at_, count);
    step(count);
    return out;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        step(1);
      } else if (text_.substr(at_).starts_with("//")) {
        while (at_ < text_.size() && text_[at_] != '\n') step(1);
      } else {
        break;
      }
    }
  }

  std::optional<Prefix> string_prefix() const {
    Prefix out{0, false, false};
    while (at_ + out.size < text_.size() && out.size <= 2) {
      const char c = text_[at_ + out.size];
      if (c == '"' || c == '\'') return out;
      if ((c == 'r' || c == 'R') && !out.raw) {
        out.raw = true;
      } else if ((c == 'b' || c == 'B') && !out.bytes) {
        out.bytes = true;
      } else {
        break;
      }
      ++out.size;
    }
    return std::nullopt;
  }

  Token number() {
    Token out{.at = column_};
    std::size_t end = at_;
    out.kind = Token::Kind::Int;
    if (text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X")) {
      end += 2;
      while (end < text_.size() && hex_of(text_[end]) >= 0) ++end;
    } else {
      while (end < text_.size() && is_digit(text_[end])) ++end;
      if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
        out.kind = Token::Kind::Float;
        ++end;
        while (end < text_.size() && is_digit(text_[end])) ++end;
      }
      if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
        std::size_t more = end + 1;
        if (more < text_.size() && (text_[more] == '+' || text_[more] == '-')) ++more;
        if (more < text_.size() && is_digit(text_[more])) {
          out.kind = Token::Kind::Float;
          end = more;
          while (end < text_.size() && is_digit(text_[end])) ++end;
        }
      }
    }
    Token made = take(out, end - at_);
    if (made.kind == Token::Kind::Int && at_ < text_.size() && (text_[at_] == 'u' || text_[at_] == 'U')) {
      made.kind = Token::Kind::Uint;
      step(1);
    }
    return made;
  }

  std::optional<Token> quoted(Prefix prefix) {
    Token out{.at = column_};
    out.kind = prefix.bytes ? Token::Kind::Bytes : Token::Kind::Text;
    const std::size_t begin = at_;
    const std::size_t start = column_;
    step(prefix.size);
    const char mark = text_[at_];
    const std::string three(3, mark);
    const bool triple = text_.substr(at_).starts_with(three);
    const std::string_view close = triple ? std::string_view(three) : text_.substr(at_, 1);
    step(close.size());
    while (true) {
      if (at_ >= text_.size() || (!triple && (text_[at_] == '\n' || text_[at_] == '\r'))) {
        const std::size_t end = at_;
        at_ = begin;
        column_ = start;
        not_a_token(end);
        return std::nullopt;
      }
      if (text_.substr(at_).starts_with(close)) break;
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (prefix.raw) {
          out.value += text_.substr(at_, 2);
          step(2);
        } else {
          escape(out.value, prefix.bytes);
        }
      } else {
        out.value += text_[at_];
        step(1);
      }
    }
    step(close.size());
    out.text = text_.substr(begin, at_ - begin);
    return out;
  }

  void escape(std::string& out, bool bytes) {
    const std::size_t start = column_;
    step(1);
    const char c = text_[at_];
    constexpr std::string_view kNames = "abfnrtv\\'\"`?";
    constexpr std::string_view kChars = "\a\b\f\n\r\t\v\\'\"`?";
    if (const std::size_t known = kNames.find(c); known != std::string_view::npos) {
      out += kChars[known];
      return step(1);
    }
    std::size_t digits = 0;
    int base = 16;
    if (c == 'x' || c == 'X') digits = 2;
    if (c == 'u' && !bytes) digits = 4;
    if (c == 'U' && !bytes) digits = 8;
    if (digits > 0) {
      step(1);
    } else if (c >= '0' && c <= '3') {
      digits = 3;
      base = 8;
    }
    std::uint32_t rune = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const int digit = at_ < text_.size() ? hex_of(text_[at_]) : -1;
      if (digit < 0 || digit >= base) digits = 0;
      if (digits == 0) break;
      rune = rune * static_cast<std::uint32_t>(base) + static_cast<std::uint32_t>(digit);
      step(1);
    }
    if (digits == 0 || rune > 0x10FFFF || (rune >= 0xD800 && rune < 0xE000))
      throw Failure{{start, "Syntax error: token recognition error: invalid escape sequence"}};
    if (bytes) {
      out += static_cast<char>(rune);
    } else {
      add_rune(out, rune);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t column_ = 0;
};

struct Operator {
  std::string_view sign;
  int strength;
  const char* function;
};
constexpr std::array kOperators{
    Operator{"<", 3, "_<_"},   Operator{"<=", 3, "_<=_"}, Operator{">", 3, "_>_"},  Operator{">=", 3, "_>=_"},
    Operator{"==", 3, "_==_"}, Operator{"!=", 3, "_!=_"}, Operator{"in", 3, "@in"}, Operator{"+", 4, "_+_"},
    Operator{"-", 4, "_-_"},   Operator{"*", 5, "_*_"},   Operator{"/", 5, "_/_"},  Operator{"%", 5, "_%_"},
};

bool is_reserved(std::string_view name) {
  constexpr std::array<std::string_view, 17> kReserved{"as",        "break",  "const",  "continue", "else", "for",
                                                       "function",  "if",     "import", "let",      "loop", "package",
                                                       "namespace", "return", "var",    "void",     "while"};
  return std::ranges::find(kReserved, name) != kReserved.end();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  const std::vector<Issue>& issues() const { return lexer_.issues; }

  NodePtr whole() {
    token_ = lexer_.next();
    NodePtr out = expression();
    if (token_.kind != Token::Kind::End) {
      const Token extra = advance();
      fail(extra.at, fmt::format("Syntax error: {} input '{}' expecting <EOF>",
                                 token_.kind == Token::Kind::End ? "extraneous" : "mismatched", extra.text));
    }
    return out;
  }

 private:
  using Kind = Node::Kind;

  [[noreturn]] static void fail(std::size_t at, std::string what) { throw Failure{{at, std::move(what)}}; }

  [[noreturn]] void unexpected_token(std::string_view expecting) const {
    fail(token_.at, fmt::format("Syntax error: mismatched input '{}' {}",
                                token_.kind == Token::Kind::End ? "<EOF>" : token_.text, expecting));
  }

  struct Depth {
    explicit Depth(std::size_t& d, std::size_t at) : depth(d) {
      if (++depth > kDeepest) fail(at, "expression recursion limit exceeded: 250");
    }
    ~Depth() { --depth; }
    std::size_t& depth;
  };

  Token advance() {
    Token out = std::move(token_);
    token_ = lexer_.next();
    return out;
  }
  bool is_sign(std::string_view sign) const { return token_.kind == Token::Kind::Sign && token_.text == sign; }
  bool accept(std::string_view sign) {
    if (!is_sign(sign)) return false;
    advance();
    return true;
  }
  void expect(std::string_view sign) {
    if (!accept(sign)) unexpected_token(fmt::format("expecting '{}'", sign));
  }

  static NodePtr make(Kind kind, std::size_t at, std::string name = {}) {
    auto out = std::make_unique<Node>();
    out->kind = kind;
    out->at = at;
    out->name = std::move(name);
    return out;
  }
  static void adopt(Node& parent, NodePtr child) {
    parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > 2 * kDeepest) fail(parent.at, "expression recursion limit exceeded: 250");
    parent.args.push_back(std::move(child));
  }

  NodePtr expression() {
    const Depth depth(depth_, token_.at);
    NodePtr condition = junction(Kind::Or);
    if (!is_sign("?")) return condition;
    NodePtr out = make(Kind::Choose, advance().at);
    adopt(*out, std::move(condition));
    adopt(*out, junction(Kind::Or));
    expect(":");
    adopt(*out, expression());
    return out;
  }

  NodePtr junction(Kind kind) {
    const bool any = kind == Kind::Or;
    const auto operand = [&] { return any ? junction(Kind::And) : binary(3); };
    NodePtr first = operand();
    if (!is_sign(any ? "||" : "&&")) return first;
    NodePtr out = make(kind, token_.at, any ? "_||_" : "_&&_");
    adopt(*out, std::move(first));
    while (accept(any ? "||" : "&&")) adopt(*out, operand());
    return out;
  }

  NodePtr binary(int strength) {
    NodePtr left = unary();
    while (true) {
      const bool word = token_.kind == Token::Kind::Name && token_.text == "in";
      if (token_.kind != Token::Kind::Sign && !word) return left;
      const auto known = std::ranges::find(kOperators, token_.text, &Operator::sign);
      if (known == kOperators.end() || known->strength < strength) return left;
      NodePtr out = make(Kind::Call, advance().at, known->function);
      adopt(*out, std::move(left));
      adopt(*out, binary(known->strength + 1));
      left = std::move(out);
    }
  }

  NodePtr unary() {
    if (!is_sign("!") && !is_sign("-")) return member();
    const Token sign = advance();
    std::size_t count = 1;
    while (is_sign(sign.text)) {
      advance();
      ++count;
    }
    const bool minus = sign.text == "-";
    if (minus && count == 1 && (token_.kind == Token::Kind::Int || token_.kind == Token::Kind::Float)) {
      negative_ = true;
      return member();
    }
    if (is_sign("!") || is_sign("-")) unexpected_token(kExpectExpression);
    NodePtr inner = member();
    if (count % 2 == 0) return inner;
    NodePtr out = make(Kind::Call, sign.at, minus ? "-_" : "!_");
    adopt(*out, std::move(inner));
    return out;
  }

  NodePtr member() {
    NodePtr out = primary();
    while (true) {
      if (is_sign(".") || is_sign(".?")) {
        const Token dot = advance();
        if (token_.kind != Token::Kind::Name) unexpected_token("expecting IDENTIFIER");
        const std::string name(advance().text);
        if (dot.text == "." && is_sign("(")) {
          out = method(std::move(out), name);
        } else {
          NodePtr select = make(Kind::Select, dot.at, name);
          select->optional = dot.text == ".?";
          adopt(*select, std::move(out));
          out = std::move(select);
        }
      } else if (is_sign("[") || is_sign("[?")) {
        const Token open = advance();
        NodePtr index = make(Kind::Call, open.at, open.text == "[?" ? "_[?_]" : "_[_]");
        adopt(*index, std::move(out));
        adopt(*index, expression());
        expect("]");
        out = std::move(index);
      } else {
        return out;
      }
    }
  }

  std::vector<NodePtr> arguments() {
    std::vector<NodePtr> out;
    expect("(");
    if (accept(")")) return out;
    do {
      out.push_back(expression());
    } while (accept(","));
    expect(")");
    return out;
  }

  NodePtr method(NodePtr target, const std::string& name) {
    const std::size_t at = token_.at;
    std::vector<NodePtr> args = arguments();
    if (auto macro = fold(target, name, args, at)) return macro;
    NodePtr out = make(Kind::Method, at, name);
    adopt(*out, std::move(target));
    for (NodePtr& arg : args) adopt(*out, std::move(arg));
    return out;
  }

  struct FoldForm {
    std::string_view name;
    std::size_t args;
    std::size_t variables;
    Macro macro;
  };

  NodePtr fold(NodePtr& target, const std::string& name, std::vector<NodePtr>& args, std::size_t at) {
    constexpr std::array kForms{
        FoldForm{"all", 2, 1, Macro::All},
        FoldForm{"exists", 2, 1, Macro::Exists},
        FoldForm{"exists_one", 2, 1, Macro::ExistsOne},
        FoldForm{"map", 2, 1, Macro::Map},
        FoldForm{"map", 3, 1, Macro::Map},
        FoldForm{"filter", 2, 1, Macro::Filter},
        FoldForm{"sortBy", 2, 1, Macro::SortBy},
        FoldForm{"all", 3, 2, Macro::All},
        FoldForm{"exists", 3, 2, Macro::Exists},
        FoldForm{"existsOne", 3, 2, Macro::ExistsOne},
        FoldForm{"exists_one", 3, 2, Macro::ExistsOne},
        FoldForm{"transformList", 3, 2, Macro::TransformList},
        FoldForm{"transformList", 4, 2, Macro::TransformList},
        FoldForm{"transformMap", 3, 2, Macro::TransformMap},
        FoldForm{"transformMap", 4, 2, Macro::TransformMap},
        FoldForm{"optMap", 2, 1, Macro::OptMap},
        FoldForm{"optFlatMap", 2, 1, Macro::OptFlatMap},
    };
    const auto form =
        std::ranges::find_if(kForms, [&](const FoldForm& f) { return f.name == name && f.args == args.size(); });
    if (form == kForms.end()) return nullptr;
    NodePtr out = make(Kind::Fold, at, name);
    out->macro = form->macro;
    for (std::size_t i = 0; i < form->variables; ++i) {
      if (args[i]->kind != Kind::Name) fail(args[i]->at, "argument must be a simple name");
      out->variables.push_back(args[i]->name);
    }
    adopt(*out, std::move(target));
    for (std::size_t i = form->variables; i < args.size(); ++i) adopt(*out, std::move(args[i]));
    return out;
  }

  NodePtr primary() {
    switch (token_.kind) {
      case Token::Kind::Int:
      case Token::Kind::Uint:
      case Token::Kind::Float: return number();
      case Token::Kind::Text: {
        Token token = advance();
        return literal(token.at, std::move(token.value));
      }
      case Token::Kind::Bytes: {
        Token token = advance();
        return literal(token.at, Bytes{std::move(token.value)});
      }
      case Token::Kind::Name: return name();
      case Token::Kind::Sign: break;
      case Token::Kind::End: unexpected_token(kExpectExpression);
    }
    if (accept("(")) {
      NodePtr out = expression();
      expect(")");
      return out;
    }
    if (is_sign("[")) return list();
    if (is_sign("{")) return map();
    if (is_sign(".")) {  // from the root namespace: the only one there is
      advance();
      if (token_.kind != Token::Kind::Name) unexpected_token("expecting IDENTIFIER");
      return name();
    }
    unexpected_token(kExpectExpression);
  }

  static NodePtr literal(std::size_t at, Value value) {
    NodePtr out = make(Kind::Literal, at);
    out->literal = std::move(value);
    return out;
  }

  NodePtr number() {
    const bool negative = std::exchange(negative_, false);
    const Token token = advance();
    std::string text(token.text);
    if (token.kind == Token::Kind::Float) {
      double value = 0;
      if (text.starts_with('.')) text.insert(0, 1, '0');
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) fail(token.at, "invalid double literal");
      return literal(token.at, negative ? -value : value);
    }
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
      base = 16;
      text.erase(0, 2);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    const bool fine = error == std::errc() && end == text.data() + text.size();
    if (token.kind == Token::Kind::Uint) {
      if (!fine) fail(token.at, "invalid uint literal");
      return literal(token.at, value);
    }
    const std::uint64_t most = std::uint64_t{1} << 63U;
    if (!fine || value > most || (value == most && !negative)) fail(token.at, "invalid int literal");
    return literal(token.at, static_cast<std::int64_t>(negative ? 0 - value : value));
  }

  NodePtr name() {
    const Token token = advance();
    if (token.text == "true" || token.text == "false") return literal(token.at, token.text == "true");
    if (token.text == "null") return literal(token.at, nullptr);
    if (token.text == "in") {
      fail(token.at, fmt::format("Syntax error: mismatched input 'in' {}", kExpectExpression));
    }
    if (is_reserved(token.text)) fail(token.at, fmt::format("reserved identifier: {}", token.text));
    const std::string text(token.text);
    if (!is_sign("(")) return make(Kind::Name, token.at, text);
    const std::size_t at = token_.at;
    std::vector<NodePtr> args = arguments();
    if (text == "has" && args.size() == 1) {
      if (args[0]->kind != Kind::Select || args[0]->optional) fail(args[0]->at, "invalid argument to has() macro");
      args[0]->kind = Kind::Has;
      args[0]->at = at;
      return std::move(args[0]);
    }
    NodePtr out = make(Kind::Call, at, text);
    for (NodePtr& arg : args) adopt(*out, std::move(arg));
    return out;
  }

  NodePtr list() {
    NodePtr out = make(Kind::List, advance().at);
    while (!is_sign("]")) {
      out->optionals.push_back(accept("?"));
      adopt(*out, expression());
      if (!accept(",")) break;
    }
    expect("]");
    return out;
  }

  NodePtr map() {
    NodePtr out = make(Kind::Map, advance().at);
    while (!is_sign("}")) {
      out->optionals.push_back(accept("?"));
      adopt(*out, expression());
      expect(":");
      adopt(*out, expression());
      if (!accept(",")) break;
    }
    expect("}");
    return out;
  }

  Lexer lexer_;
  Token token_;
  std::size_t depth_ = 0;
  bool negative_ = false;
};

}  // namespace

std::expected<NodePtr, std::vector<Issue>> parse(std::string_view text) {
  if (text.size() > kLongest)
    return std::unexpected(std::vector<Issue>{
        {0, fmt::format("expression code point size exceeds limit: size: {}, limit {}", text.size(), kLongest)}});
  Parser parser(text);
  std::vector<Issue> issues;
  NodePtr out;
  try {
    out = parser.whole();
  } catch (Failure& failure) {
    issues.push_back(std::move(failure.issue));
  }
  issues.insert(issues.begin(), parser.issues().begin(), parser.issues().end());
  if (!issues.empty()) return std::unexpected(std::move(issues));
  return out;
}

std::string issues_text(std::string_view source, const std::vector<Issue>& issues) {
  std::string out;
  for (const Issue& issue : issues) {
    // The line that holds the character, and its place in it.
    std::size_t line = 1;
    std::size_t line_begin = 0;
    std::size_t characters = 0;
    std::size_t column = 0;
    for (std::size_t i = 0; i < source.size() && characters < issue.at; ++i) {
      const bool starts = i + 1 == source.size() || (static_cast<unsigned char>(source[i + 1]) & 0xC0U) != 0x80U;
      if (!starts) continue;
      ++characters;
      ++column;
      if (source[i] == '\n') {
        ++line;
        line_begin = i + 1;
        column = 0;
      }
    }
    std::string_view shown = source.substr(line_begin);
    shown = shown.substr(0, shown.find('\n'));
    std::string spaced(shown);
    std::ranges::replace(spaced, '\t', ' ');
    out += fmt::format("{}ERROR: <input>:{}:{}: {}\n | {}\n | {:.>{}}", out.empty() ? "" : "\n", line, column + 1,
                       issue.what, spaced, "^", column + 1);
  }
  return out;
}

}  // namespace kopper::plane::cel
