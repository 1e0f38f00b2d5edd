#include "kopper/plane/crd/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace kopper::plane {
namespace {

const char* go_words(RE2::ErrorCode code) {
  switch (code) {
    case RE2::ErrorBadEscape: return "invalid escape sequence";
    case RE2::ErrorBadCharClass: return "invalid character class";
    case RE2::ErrorBadCharRange: return "invalid character class range";
    case RE2::ErrorMissingBracket: return "missing closing ]";
    case RE2::ErrorMissingParen: return "missing closing )";
    case RE2::ErrorUnexpectedParen: return "unexpected )";
    case RE2::ErrorTrailingBackslash: return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument: return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize: return "invalid repeat count";
    case RE2::ErrorRepeatOp: return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp: return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8: return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture: return "invalid named capture";
    case RE2::ErrorPatternTooLarge: return "expression too large";
    default: return "internal error";
  }
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct Pattern::Compiled {
  Compiled(std::string_view text, const RE2::Options& options) : expression(piece(text), options) {}
  RE2 expression;
};

Pattern::Pattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

std::expected<Pattern, std::string> Pattern::compile(std::string_view text) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_shared<Compiled>(text, options);
  const RE2& made = compiled->expression;
  if (!made.ok()) {
    // Go names the whole expression where a bracket or parenthesis is left open.
    const bool whole = made.error_code() == RE2::ErrorMissingParen || made.error_code() == RE2::ErrorUnexpectedParen;
    return std::unexpected(fmt::format("error parsing regexp: {}: `{}`", go_words(made.error_code()),
                                       whole ? text : std::string_view(made.error_arg())));
  }
  return Pattern(std::move(compiled));
}

bool Pattern::matches(std::string_view text) const { return RE2::PartialMatch(piece(text), compiled_->expression); }

std::optional<std::string> Pattern::find(std::string_view text) const {
  auto all = find_all(text, 1);
  if (all.empty()) return std::nullopt;
  return std::move(all.front());
}

std::vector<std::string> Pattern::find_all(std::string_view text, std::size_t limit) const {
  std::vector<std::string> out;
  std::size_t from = 0;
  std::size_t last_end = std::string_view::npos;  // an empty match right after a match does not count
  while (from <= text.size() && out.size() < limit) {
    re2::StringPiece hit;
    if (!compiled_->expression.Match(piece(text), from, text.size(), RE2::UNANCHORED, &hit, 1)) break;
    const std::size_t begin = static_cast<std::size_t>(hit.data() - text.data());
    const std::size_t end = begin + hit.size();
    if (!hit.empty() || begin != last_end) out.emplace_back(hit.data(), hit.size());
    last_end = end;
    from = hit.empty() ? end + 1 : end;
    while (hit.empty() && from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0U) == 0x80U) ++from;
  }
  return out;
}

}  // namespace kopper::plane
