#include "kopper/api/selector.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/api/gen/meta_v1.h"
#include "kopper/api/validation.h"

namespace kopper::api {
namespace {

using Op = Requirement::Op;

std::optional<std::int64_t> to_int(std::string_view text) {
  std::int64_t value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void sort_unique(std::vector<std::string>& values) {
  std::ranges::sort(values);
  const auto [first, last] = std::ranges::unique(values);
  values.erase(first, last);
}

// What is wrong with a requirement, in the server's words, or "".
std::string complaint(const Requirement& r) {
  if (const auto bad = check_label_key(r.key); !bad.empty()) {
    return fmt::format("<nil>: Invalid value: \"{}\": {}", r.key, fmt::join(bad, "; "));
  }
  if ((r.op == Op::In || r.op == Op::NotIn) && r.values.empty()) {
    return "for 'in', 'notin' operators, values set can't be empty";
  }
  if (r.op == Op::GreaterThan || r.op == Op::LessThan) {
    if (r.values.size() != 1) return "for 'Gt', 'Lt' operators, exactly one value is required";
    if (!to_int(r.values[0])) return "for 'Gt', 'Lt' operators, the value must be an integer";
  }
  if ((r.op == Op::Exists || r.op == Op::DoesNotExist) && !r.values.empty()) {
    return "values set must be empty for exists and does not exist";
  }
  for (std::size_t i = 0; i < r.values.size(); ++i) {
    if (const auto bad = check_label_value(r.values[i]); !bad.empty()) {
      return fmt::format("values[{}][{}]: Invalid value: \"{}\": {}", i, r.key, r.values[i], fmt::join(bad, "; "));
    }
  }
  return {};
}

// Cuts the text into names and operators and reads one requirement after the other.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { next(); }

  std::expected<std::vector<Requirement>, DecodeError> run() {
    std::vector<Requirement> out;
    while (error_.empty() && !at_end()) {
      out.push_back(requirement());
      if (!error_.empty() || at_end()) break;
      if (token_ != ",")
        fail("',' or 'end of string'");
      else
        next();
      if (error_.empty() && at_end()) fail("a label after ','");
    }
    if (!error_.empty()) return std::unexpected(DecodeError{error_, "", at_});
    return out;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_symbol(char c) { return std::string_view("=!(),<>").find(c) != std::string_view::npos; }

  bool at_end() const { return token_.empty(); }
  bool is_name() const { return !token_.empty() && !is_symbol(token_[0]); }

  void next() {
    while (pos_ < text_.size() && is_space(text_[pos_])) ++pos_;
    at_ = pos_;
    const auto rest = text_.substr(pos_);
    std::size_t length = 0;
    if (rest.starts_with("==") || rest.starts_with("!="))
      length = 2;
    else if (!rest.empty() && is_symbol(rest[0]))
      length = 1;
    else
      while (length < rest.size() && !is_symbol(rest[length]) && !is_space(rest[length])) ++length;
    token_ = rest.substr(0, length);
    pos_ += length;
  }

  void fail(std::string_view expected) {
    if (error_.empty()) error_ = fmt::format("found '{}', expected: {}", token_.substr(0, 64), expected);
  }

  std::string take_name(std::string_view what) {
    if (!is_name()) {
      fail(what);
      return {};
    }
    std::string name(token_);
    next();
    return name;
  }

  Requirement requirement() {
    Requirement r;
    const auto start = at_;
    const bool negated = token_ == "!";
    if (negated) next();
    r.key = take_name("a label");
    if (negated) {
      r.op = Op::DoesNotExist;
    } else if (!at_end() && token_ != ",") {
      operation(r);
    }
    sort_unique(r.values);
    if (error_.empty()) {
      error_ = complaint(r);
      if (!error_.empty()) at_ = start;
    }
    if (!error_.empty()) error_ = "unable to parse requirement: " + error_;
    return r;
  }

  void operation(Requirement& r) {
    static constexpr std::pair<std::string_view, Op> kOps[] = {
        {"=", Op::Equals},    {"==", Op::Equals},     {"!=", Op::NotEquals}, {"in", Op::In},
        {"notin", Op::NotIn}, {">", Op::GreaterThan}, {"<", Op::LessThan}};
    const auto* op = std::ranges::find(kOps, token_, &std::pair<std::string_view, Op>::first);
    if (op == std::end(kOps)) return fail("in, notin, =, ==, !=, gt, lt");
    r.op = op->second;
    next();
    if (r.op == Op::In || r.op == Op::NotIn) return values(r);
    // "a=" asks for the empty value.
    r.values.push_back(at_end() || token_ == "," ? std::string() : take_name("a value"));
  }

  // "(x,y)"; a gap between commas is the empty value.
  void values(Requirement& r) {
    if (token_ != "(") return fail("'('");
    next();
    for (;;) {
      r.values.push_back(token_ == "," || token_ == ")" ? std::string() : take_name("a value or ')'"));
      if (!error_.empty()) return;
      if (token_ == ")") return next();
      if (token_ != ",") return fail("',' or ')'");
      next();
    }
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t at_ = 0;  // where token_ starts
  std::string_view token_;
  std::string error_;
};

}  // namespace

bool Requirement::matches(const Labels& labels) const {
  const auto found = labels.find(key);
  return matches_value(found == labels.end() ? std::nullopt : std::optional<std::string_view>(found->second));
}

bool Requirement::matches_value(std::optional<std::string_view> value) const {
  const auto listed = [&] { return value && std::ranges::find(values, *value) != values.end(); };
  switch (op) {
    case Op::Equals:
    case Op::In: return listed();
    case Op::NotEquals:
    case Op::NotIn: return !listed();
    case Op::Exists: return value.has_value();
    case Op::DoesNotExist: return !value;
    case Op::GreaterThan:
    case Op::LessThan: {
      if (!value || values.size() != 1) return false;
      const auto have = to_int(*value);
      const auto want = to_int(values[0]);
      if (!have || !want) return false;
      return op == Op::GreaterThan ? *have > *want : *have < *want;
    }
  }
  return false;
}

std::string Requirement::str() const {
  switch (op) {
    case Op::Equals: return fmt::format("{}={}", key, fmt::join(values, ","));
    case Op::NotEquals: return fmt::format("{}!={}", key, fmt::join(values, ","));
    case Op::In: return fmt::format("{} in ({})", key, fmt::join(values, ","));
    case Op::NotIn: return fmt::format("{} notin ({})", key, fmt::join(values, ","));
    case Op::Exists: return key;
    case Op::DoesNotExist: return "!" + key;
    case Op::GreaterThan: return fmt::format("{}>{}", key, fmt::join(values, ","));
    case Op::LessThan: return fmt::format("{}<{}", key, fmt::join(values, ","));
  }
  return {};
}

std::expected<Selector, DecodeError> Selector::parse(std::string_view text) {
  auto requirements = Parser(text).run();
  if (!requirements) return std::unexpected(std::move(requirements.error()));
  Selector out;
  out.requirements_ = std::move(*requirements);
  std::ranges::sort(out.requirements_);
  return out;
}

Selector Selector::of(const Labels& labels) {
  Selector out;
  for (const auto& [key, value] : labels) out.requirements_.push_back({key, Op::Equals, {value}});
  return out;
}

std::expected<Selector, DecodeError> Selector::from(const metav1::LabelSelector& selector) {
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"In", Op::In}, {"NotIn", Op::NotIn}, {"Exists", Op::Exists}, {"DoesNotExist", Op::DoesNotExist}};
  Selector out = of(selector.matchLabels);
  for (std::size_t i = 0; i < selector.matchExpressions.size(); ++i) {
    const auto& expression = selector.matchExpressions[i];
    const auto* op = std::ranges::find(kOps, expression.operator_, &std::pair<std::string_view, Op>::first);
    const auto path = fmt::format("matchExpressions[{}]", i);
    if (op == std::end(kOps)) {
      return std::unexpected(
          DecodeError{fmt::format("\"{}\" is not a valid label selector operator", expression.operator_), path, 0});
    }
    out.requirements_.push_back({expression.key, op->second, expression.values});
    sort_unique(out.requirements_.back().values);
  }
  for (const auto& r : out.requirements_) {
    if (auto wrong = complaint(r); !wrong.empty()) return std::unexpected(DecodeError{std::move(wrong), "", 0});
  }
  std::ranges::sort(out.requirements_);
  return out;
}

bool Selector::matches(const Labels& labels) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& r) { return r.matches(labels); });
}

std::string Selector::str() const {
  std::string out;
  for (const auto& r : requirements_) {
    if (!out.empty()) out += ',';
    out += r.str();
  }
  return out;
}

Selector& Selector::add(Requirement requirement) {
  sort_unique(requirement.values);
  requirements_.push_back(std::move(requirement));
  std::ranges::sort(requirements_);
  return *this;
}

namespace {

std::string escape(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == ',' || c == '=') out += '\\';
    out += c;
  }
  return out;
}

// One "field=value" from the front of `text`, up to and with the comma; an error text, or "".
std::string take_term(std::string_view& text, FieldSelector::Term& term) {
  const auto op = text.find_first_of("=,");
  if (op == std::string_view::npos || text[op] == ',') return "expected field=value or field!=value";
  term.equal = op == 0 || text[op - 1] != '!';
  term.field = text.substr(0, term.equal ? op : op - 1);
  text.remove_prefix(op + 1);
  if (term.equal && text.starts_with('=')) text.remove_prefix(1);
  for (; !text.empty() && text[0] != ','; text.remove_prefix(1)) {
    if (text[0] == '=') return "a '=' in a value must be escaped with '\\'";
    if (text[0] == '\\') {
      text.remove_prefix(1);
      if (text.empty() || std::string_view("\\,=").find(text[0]) == std::string_view::npos) {
        return "'\\' in a value must be followed by '\\', ',' or '='";
      }
    }
    term.value += text[0];
  }
  if (!text.empty()) text.remove_prefix(1);
  return {};
}

}  // namespace

std::expected<FieldSelector, DecodeError> FieldSelector::parse(std::string_view text) {
  FieldSelector out;
  for (auto rest = text; !rest.empty();) {
    if (rest[0] == ',') {  // the server skips empty terms
      rest.remove_prefix(1);
      continue;
    }
    Term term;
    if (auto wrong = take_term(rest, term); !wrong.empty()) {
      return std::unexpected(DecodeError{
          fmt::format("invalid selector: '{}'; can't understand '{}'", text, rest.substr(0, rest.find(','))), "",
          text.size() - rest.size()});
    }
    out.terms_.push_back(std::move(term));
  }
  std::ranges::sort(out.terms_);
  return out;
}

FieldSelector FieldSelector::of(std::string field, std::string value) {
  FieldSelector out;
  out.terms_.push_back({std::move(field), true, std::move(value)});
  return out;
}

bool FieldSelector::matches(const std::function<std::optional<std::string>(std::string_view)>& lookup) const {
  return std::ranges::all_of(
      terms_, [&](const Term& t) { return (lookup(t.field).value_or(std::string()) == t.value) == t.equal; });
}

std::optional<std::string> FieldSelector::exact(std::string_view field) const {
  for (const auto& t : terms_)
    if (t.equal && t.field == field) return t.value;
  return std::nullopt;
}

std::string FieldSelector::str() const {
  std::string out;
  for (const auto& t : terms_) {
    if (!out.empty()) out += ',';
    out += fmt::format("{}{}{}", t.field, t.equal ? "=" : "!=", escape(t.value));
  }
  return out;
}

}  // namespace kopper::api
