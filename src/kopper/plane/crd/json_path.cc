#include "kopper/plane/crd/json_path.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <variant>

#include <fmt/format.h>

namespace kopper::plane {
namespace {

struct Step;

struct Operand {  // of a filter: a path from the item, or a literal
  std::vector<Step> path;
  json::Value literal;
  bool is_path = false;
};
enum class Compare : std::uint8_t { Exists, Eq, Ne, Lt, Le, Gt, Ge };
struct Filter {
  Operand left;
  Compare compare = Compare::Exists;
  Operand right;
};
struct Slice {
  std::optional<std::int64_t> begin;
  std::optional<std::int64_t> end;
  std::int64_t step = 1;
  bool single = false;
};
struct Wildcard {};
struct Descend {};  // ".."
struct Name {
  std::string text;
};
struct Step {
  std::variant<Name, Slice, Wildcard, Descend, Filter> what;
};

using Nodes = std::vector<const json::Value*>;
Nodes walk(const std::vector<Step>& steps, const json::Value& root);

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  std::expected<std::vector<Step>, std::string> path(bool in_filter) {
    std::vector<Step> out;
    if (!in_filter && rest_ == ".") return out;
    while (!rest_.empty()) {
      if (rest_.starts_with("..")) {
        rest_.remove_prefix(2);
        out.push_back({Descend{}});
        if (!rest_.starts_with('[')) {
          if (auto error = name(out, in_filter)) return std::unexpected(*error);
        }
      } else if (rest_[0] == '.') {
        rest_.remove_prefix(1);
        if (rest_.starts_with('[')) continue;
        if (auto error = name(out, in_filter)) return std::unexpected(*error);
      } else if (rest_[0] == '[') {
        if (auto error = bracket(out)) return std::unexpected(*error);
      } else if (in_filter) {
        break;
      } else {
        return std::unexpected(fmt::format("unrecognized character in action: '{}'", rest_[0]));
      }
    }
    return out;
  }

  std::string_view rest() const { return rest_; }

 private:
  using Error = std::optional<std::string>;

  Error name(std::vector<Step>& out, bool in_filter) {
    if (rest_.starts_with('*')) {
      rest_.remove_prefix(1);
      out.push_back({Wildcard{}});
      return {};
    }
    std::string text;
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == '\\' && rest_.size() > 1) {
        text += rest_[1];
        rest_.remove_prefix(2);
        continue;
      }
      if (c == '.' || c == '[' || c == ']' || c == ' ') break;
      if (in_filter && std::string_view("=!<>)").find(c) != std::string_view::npos) break;
      text += c;
      rest_.remove_prefix(1);
    }
    if (text.empty()) return "invalid path: a name is missing";
    out.push_back({Name{std::move(text)}});
    return {};
  }

  Error bracket(std::vector<Step>& out) {
    rest_.remove_prefix(1);
    if (rest_.starts_with("?(")) return filter(out);
    if (rest_.starts_with('\'') || rest_.starts_with('"')) {
      const auto text = quoted();
      if (!text || !rest_.starts_with(']')) return "unterminated array";
      rest_.remove_prefix(1);
      out.push_back({Name{*text}});
      return {};
    }
    const std::size_t close = rest_.find(']');
    if (close == std::string_view::npos) return "unterminated array";
    const std::string_view inside = rest_.substr(0, close);
    rest_.remove_prefix(close + 1);
    if (inside == "*") {
      out.push_back({Wildcard{}});
      return {};
    }
    return slice(inside, out);
  }

  static Error slice(std::string_view inside, std::vector<Step>& out) {
    Slice made;
    std::optional<std::int64_t>* into[] = {&made.begin, &made.end};
    std::optional<std::int64_t> step;
    std::size_t part = 0;
    std::string_view rest = inside;
    while (true) {
      const std::size_t colon = rest.find(':');
      const std::string_view digits = rest.substr(0, colon);
      std::optional<std::int64_t>& target = part < 2 ? *into[part] : step;
      if (!digits.empty()) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc() || end != digits.data() + digits.size())
          return fmt::format("invalid array index {}", inside);
        target = value;
      }
      ++part;
      if (colon == std::string_view::npos) break;
      if (part > 2) return fmt::format("invalid array index {}", inside);
      rest.remove_prefix(colon + 1);
    }
    made.single = part == 1;
    if (made.single && !made.begin) return fmt::format("invalid array index {}", inside);
    if (step) made.step = *step;
    if (made.step <= 0) return std::string("step must be > 0");
    out.push_back({made});
    return {};
  }

  std::optional<std::string> quoted() {
    const char quote = rest_[0];
    std::string text;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\' && i + 1 < rest_.size()) {
        text += rest_[++i];
      } else if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return text;
      } else {
        text += rest_[i];
      }
    }
    return std::nullopt;
  }

  void blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  Error operand(Operand& out) {
    blanks();
    if (rest_.starts_with('@')) {
      rest_.remove_prefix(1);
      if (++depth_ > 16) return "filters are nested too deep";
      auto inner = path(true);
      --depth_;
      if (!inner) return inner.error();
      out.path = std::move(*inner);
      out.is_path = true;
      return {};
    }
    if (rest_.starts_with('\'') || rest_.starts_with('"')) {
      auto text = quoted();
      if (!text) return "unterminated quoted string";
      out.literal = std::move(*text);
      return {};
    }
    const std::size_t end = std::min(rest_.find_first_of(" )=!<>"), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    auto value = json::parse(word);
    if (!value || value->is_object() || value->is_array()) return fmt::format("unrecognized identifier {}", word);
    out.literal = std::move(*value);
    rest_.remove_prefix(end);
    return {};
  }

  Error filter(std::vector<Step>& out) {
    rest_.remove_prefix(2);
    Filter made;
    if (auto error = operand(made.left)) return error;
    blanks();
    constexpr std::pair<std::string_view, Compare> kSigns[] = {
        {"==", Compare::Eq}, {"!=", Compare::Ne}, {"<=", Compare::Le},
        {">=", Compare::Ge}, {"<", Compare::Lt},  {">", Compare::Gt},
    };
    for (const auto& [sign, compare] : kSigns) {
      if (!rest_.starts_with(sign)) continue;
      rest_.remove_prefix(sign.size());
      made.compare = compare;
      if (auto error = operand(made.right)) return error;
      blanks();
      break;
    }
    if (!rest_.starts_with(")]")) return "unterminated filter";
    rest_.remove_prefix(2);
    out.push_back({std::move(made)});
    return {};
  }

  std::string_view rest_;
  int depth_ = 0;
};

bool compared(const json::Value& a, const json::Value& b, Compare how) {
  if (how == Compare::Eq) return a == b;
  if (how == Compare::Ne) return !(a == b);
  int order = 0;
  if (a.is_number() && b.is_number()) {
    order = *a.number() < *b.number() ? -1 : *a.number() > *b.number() ? 1 : 0;
  } else if (a.is_string() && b.is_string()) {
    order = a.as_string()->compare(*b.as_string());
  } else {
    return false;
  }
  switch (how) {
    case Compare::Lt: return order < 0;
    case Compare::Le: return order <= 0;
    case Compare::Gt: return order > 0;
    default: return order >= 0;
  }
}

bool holds(const Filter& filter, const json::Value& item) {
  const auto side = [&](const Operand& operand) -> const json::Value* {
    if (!operand.is_path) return &operand.literal;
    const Nodes found = walk(operand.path, item);
    return found.empty() ? nullptr : found.front();
  };
  const json::Value* left = side(filter.left);
  if (filter.compare == Compare::Exists) return left != nullptr;
  const json::Value* right = side(filter.right);
  return left != nullptr && right != nullptr && compared(*left, *right, filter.compare);
}

void each_below(const json::Value& node, Nodes& out) {
  out.push_back(&node);
  if (const json::Object* object = node.as_object())
    for (const auto& [name, value] : *object) each_below(value, out);
  if (const json::Array* list = node.as_array())
    for (const json::Value& item : *list) each_below(item, out);
}

void take(const Slice& slice, const json::Array& list, Nodes& out) {
  const auto size = static_cast<std::int64_t>(list.size());
  const auto from_end = [&](std::int64_t i) { return i < 0 ? i + size : i; };
  if (slice.single) {
    const std::int64_t i = from_end(*slice.begin);
    if (i >= 0 && i < size) out.push_back(&list[static_cast<std::size_t>(i)]);
    return;
  }
  const std::int64_t end = std::min(from_end(slice.end.value_or(size)), size);
  for (std::int64_t i = std::max<std::int64_t>(from_end(slice.begin.value_or(0)), 0); i < end; i += slice.step) {
    out.push_back(&list[static_cast<std::size_t>(i)]);
    if (slice.step > size) break;
  }
}

struct Stepper {
  const json::Value& node;
  Nodes& out;

  void operator()(const Name& name) const {
    const json::Object* object = node.as_object();
    if (object == nullptr) return;
    if (const json::Value* value = object->find(name.text)) out.push_back(value);
  }
  void operator()(const Slice& slice) const {
    if (const json::Array* list = node.as_array()) take(slice, *list, out);
  }
  void operator()(const Wildcard&) const {
    if (const json::Object* object = node.as_object())
      for (const auto& [name, value] : *object) out.push_back(&value);
    if (const json::Array* list = node.as_array())
      for (const json::Value& item : *list) out.push_back(&item);
  }
  void operator()(const Descend&) const { each_below(node, out); }
  void operator()(const Filter& filter) const {
    if (const json::Array* list = node.as_array())
      for (const json::Value& item : *list)
        if (holds(filter, item)) out.push_back(&item);
  }
};

constexpr std::size_t kMostNodes = 100'000;  // ".." twice multiplies

Nodes walk(const std::vector<Step>& steps, const json::Value& root) {
  Nodes at{&root};
  for (const Step& step : steps) {
    Nodes next;
    for (const json::Value* node : at) {
      std::visit(Stepper{*node, next}, step.what);
      if (next.size() > kMostNodes) break;
    }
    at = std::move(next);
  }
  return at;
}

}  // namespace

struct JsonPath::Steps {
  std::vector<Step> list;
};

JsonPath::JsonPath(std::shared_ptr<const Steps> steps) : steps_(std::move(steps)) {}

std::expected<JsonPath, std::string> JsonPath::parse(std::string_view text) {
  auto steps = Parser(text).path(false);
  if (!steps) return std::unexpected(steps.error());
  return JsonPath(std::make_shared<const Steps>(std::move(*steps)));
}

std::vector<const json::Value*> JsonPath::find(const json::Value& root) const { return walk(steps_->list, root); }

const json::Value* JsonPath::first(const json::Value& root) const {
  const auto found = find(root);
  return found.empty() ? nullptr : found.front();
}

}  // namespace kopper::plane
