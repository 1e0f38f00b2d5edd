#include "kopper/plane/crd/cel/program.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/crd/cel/ast.h"
#include "kopper/plane/crd/cel/checker.h"
#include "kopper/plane/crd/cel/cost.h"
#include "kopper/plane/crd/cel/functions.h"

namespace kopper::plane::cel {
namespace {

constexpr const char* kTooCostly = "operation cancelled: actual cost limit exceeded";

class Evaluator {
 public:
  Evaluator(const Inputs& inputs, bool optional_old_self, std::uint64_t limit)
      : inputs_(inputs), optional_old_self_(optional_old_self), limit_(limit) {}

  Value of(const Node& node) {
    switch (node.kind) {
      case Node::Kind::Literal: return node.literal;
      case Node::Kind::Name: return of_name(node);
      case Node::Kind::Select: return of_select(node);
      case Node::Kind::Has: return of_has(node);
      case Node::Kind::Call: return of_call(node, false);
      case Node::Kind::Method: return of_call(node, true);
      case Node::Kind::And: return of_junction(node, false);
      case Node::Kind::Or: return of_junction(node, true);
      case Node::Kind::Choose: return of_choice(node);
      case Node::Kind::List: return of_list(node);
      case Node::Kind::Map: return of_map(node);
      case Node::Kind::Fold: return of_fold(node);
    }
    return make_error("unexpected expression");
  }

  std::uint64_t cost() const { return cost_; }
  bool too_costly() const { return cost_ > limit_; }

 private:
  // False once the budget is spent: whoever sees it stops.
  bool spend(std::uint64_t steps) {
    cost_ += steps;
    return !too_costly();
  }

  // A text is copied where it is named: a long one costs as much.
  Value charged(Value value) {
    const auto* text = value.as<std::string>();
    if (text != nullptr && !spend(text->size() / 100)) return make_error(kTooCostly);
    return value;
  }

  Value of_name(const Node& node) {
    if (!spend(1)) return make_error(kTooCostly);
    for (auto at = scope_.rbegin(); at != scope_.rend(); ++at)
      if (at->first == node.name) return charged(at->second);
    if (node.name == "self") return from_json(*inputs_.self, inputs_.schema);
    if (node.name != "oldSelf") {
      const json::Object* given = inputs_.self->as_object();
      const json::Value* value = given != nullptr ? given->find(node.name) : nullptr;
      if (value != nullptr) return from_json(*value, nullptr);
      return make_error(fmt::format("no such attribute(s): {}", node.name));
    }
    if (inputs_.old_self == nullptr)
      return optional_old_self_ ? no_optional() : make_error("no such attribute(s): oldSelf");
    Value old = from_json(*inputs_.old_self, inputs_.schema);
    return optional_old_self_ ? make_optional(std::move(old)) : old;
  }

  Value of_select(const Node& node) {
    Value from = of(*node.args[0]);
    if (from.is_error()) return from;
    if (!spend(1)) return make_error(kTooCostly);
    bool optional = node.optional;
    if (const auto* wrapped = from.as<Optional>()) {
      if (wrapped->value == nullptr) return no_optional();
      optional = true;
      const Value inner = *wrapped->value;
      from = inner;
    }
    Value out;
    if (from.is_map() && from.find(node.name, out)) {
      out = charged(std::move(out));
      return optional && !out.is_error() ? make_optional(std::move(out)) : out;
    }
    if (optional) return no_optional();
    return make_error(from.is_map() ? fmt::format("no such key: {}", node.name) : "no such overload");
  }

  Value of_has(const Node& node) {
    Value from = of(*node.args[0]);
    if (from.is_error()) return from;
    if (const auto* wrapped = from.as<Optional>()) {
      if (wrapped->value == nullptr) return false;
      const Value inner = *wrapped->value;
      from = inner;
    }
    if (!from.is_map()) return make_error("no such overload");
    Value ignored;
    return from.find(node.name, ignored);
  }

  Value of_call(const Node& node, bool method) {
    std::vector<Value> args;
    args.reserve(node.args.size());
    for (const NodePtr& arg : node.args) {
      args.push_back(of(*arg));
      if (args.back().is_error()) return args.back();
    }
    if (!spend(1 + cost_of_call(node.name, args))) return make_error(kTooCostly);
    if (node.pattern)
      if (const auto* text = args[0].as<std::string>()) return node.pattern->matches(*text);
    const std::vector<Overload>* overloads = find_function(node.name);
    if (overloads == nullptr) return make_error("no such overload");
    for (const Overload& overload : *overloads) {
      if (overload.method != method || overload.takes.size() != args.size()) continue;
      bool right = true;
      for (std::size_t i = 0; i < args.size() && right; ++i) right = fits(args[i], overload.takes[i]);
      if (right) return charged(overload.run(args));
    }
    return make_error("no such overload");
  }

  // An error counts only when nothing else decides.
  Value of_junction(const Node& node, bool decisive) {
    Value trouble;
    for (const NodePtr& arg : node.args) {
      Value value = of(*arg);
      if (too_costly()) return make_error(kTooCostly);
      const bool* flag = value.as<bool>();
      if (flag != nullptr && *flag == decisive) return decisive;
      if (flag == nullptr && trouble.is_null())
        trouble = value.is_error() ? std::move(value) : make_error("no such overload");
    }
    return trouble.is_null() ? Value(!decisive) : trouble;
  }

  Value of_choice(const Node& node) {
    Value condition = of(*node.args[0]);
    if (condition.is_error()) return condition;
    const bool* flag = condition.as<bool>();
    if (flag == nullptr) return make_error("no such overload");
    return of(*node.args[*flag ? 1 : 2]);
  }

  Value of_list(const Node& node) {
    if (!spend(10)) return make_error(kTooCostly);
    std::vector<Value> items;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      Value item = of(*node.args[i]);
      if (item.is_error()) return item;
      if (node.optionals[i]) {
        const auto* wrapped = item.as<Optional>();
        if (wrapped == nullptr) return make_error("no such overload");
        if (wrapped->value == nullptr) continue;
        const Value inner = *wrapped->value;
        item = inner;
      }
      items.push_back(std::move(item));
    }
    return make_list(std::move(items));
  }

  using Entries = std::vector<std::pair<Value, Value>>;

  static Value made_map(Entries entries) { return std::make_shared<const Entries>(std::move(entries)); }

  Value of_map(const Node& node) {
    if (!spend(30)) return make_error(kTooCostly);
    Entries entries;
    for (std::size_t i = 0; i + 1 < node.args.size(); i += 2) {
      Value key = of(*node.args[i]);
      if (key.is_error()) return key;
      Value value = of(*node.args[i + 1]);
      if (value.is_error()) return value;
      if (node.optionals[i / 2]) {
        const auto* wrapped = value.as<Optional>();
        if (wrapped == nullptr) return make_error("no such overload");
        if (wrapped->value == nullptr) continue;
        const Value inner = *wrapped->value;
        value = inner;
      }
      if (!spend(entries.size())) return make_error(kTooCostly);
      for (const auto& [known, ignored] : entries)
        if (equal(known, key)) return make_error("Failed with repeated key");
      entries.emplace_back(std::move(key), std::move(value));
    }
    return made_map(std::move(entries));
  }

  Value of_fold(const Node& node) {
    const Value range = of(*node.args[0]);
    if (range.is_error()) return range;
    if (node.macro == Macro::OptMap || node.macro == Macro::OptFlatMap) return of_optional(node, range);
    if (!range.is_list() && !range.is_map()) return make_error("no such overload");
    Fold fold;
    const std::size_t outer = scope_.size();
    const std::size_t size = range.size();
    for (std::size_t i = 0; i < size; ++i) {
      scope_.resize(outer);
      Value first = range.is_map() ? range.key_at(i) : range.at(i);
      if (node.variables.size() == 2) {
        Value second = range.is_map() ? range.value_at(i) : std::move(first);
        if (!range.is_map()) first = static_cast<std::int64_t>(i);
        scope_.emplace_back(node.variables[0], first);
        scope_.emplace_back(node.variables[1], std::move(second));
      } else {
        scope_.emplace_back(node.variables[0], first);
      }
      const bool go_on = spend(1) && step(node, first, fold);
      if (too_costly()) fold.trouble = make_error(kTooCostly);
      if (!go_on || too_costly()) break;
    }
    scope_.resize(outer);
    if (too_costly()) return make_error(kTooCostly);
    return result(node.macro, fold);
  }

  struct Fold {
    std::vector<Value> items;
    Entries entries;
    std::size_t count = 0;
    bool decided = false;  // All: something failed; Exists: something held
    Value trouble;
  };

  // One round; false when the rest does not matter.
  bool step(const Node& node, const Value& element, Fold& fold) {
    const bool filtered = node.args.size() == 3;
    if (filtered && !holds(*node.args[1], fold, true)) return fold.trouble.is_null();
    const Node& body = *node.args.back();
    switch (node.macro) {
      case Macro::All:
      case Macro::Exists: {
        const Value value = of(body);
        const bool* flag = value.as<bool>();
        if (flag == nullptr) {
          if (fold.trouble.is_null()) fold.trouble = value.is_error() ? value : make_error("no such overload");
          return true;  // a later one may decide
        }
        fold.decided = *flag == (node.macro == Macro::Exists);
        return !fold.decided;
      }
      case Macro::ExistsOne:
        if (holds(body, fold, true)) ++fold.count;
        return fold.trouble.is_null();
      case Macro::Filter:
        if (holds(body, fold, true)) fold.items.push_back(element);
        return fold.trouble.is_null();
      case Macro::Map:
      case Macro::SortBy:
      case Macro::TransformList:
      case Macro::TransformMap: {
        Value value = of(body);
        if (value.is_error()) {
          fold.trouble = std::move(value);
          return false;
        }
        if (node.macro == Macro::TransformMap || node.macro == Macro::SortBy) {
          fold.entries.emplace_back(element, std::move(value));
        } else {
          fold.items.push_back(std::move(value));
        }
        return true;
      }
      case Macro::OptMap:
      case Macro::OptFlatMap: break;
    }
    return false;
  }

  bool holds(const Node& condition, Fold& fold, bool strict) {
    Value value = of(condition);
    const bool* flag = value.as<bool>();
    if (flag == nullptr && strict) fold.trouble = value.is_error() ? std::move(value) : make_error("no such overload");
    return flag != nullptr && *flag;
  }

  static Value result(Macro macro, Fold& fold) {
    switch (macro) {
      case Macro::All: return fold.decided ? Value(false) : fold.trouble.is_null() ? Value(true) : fold.trouble;
      case Macro::Exists: return fold.decided ? Value(true) : fold.trouble.is_null() ? Value(false) : fold.trouble;
      default: break;
    }
    if (!fold.trouble.is_null()) return fold.trouble;
    if (macro == Macro::ExistsOne) return fold.count == 1;
    if (macro == Macro::SortBy) {
      std::ranges::stable_sort(fold.entries,
                               [](const auto& a, const auto& b) { return order(a.second, b.second) == -1; });
      for (auto& [item, key] : fold.entries) fold.items.push_back(std::move(item));
    }
    if (macro == Macro::TransformMap) return made_map(std::move(fold.entries));
    return make_list(std::move(fold.items));
  }

  Value of_optional(const Node& node, const Value& range) {
    const auto* wrapped = range.as<Optional>();
    if (wrapped == nullptr) return make_error("no such overload");
    if (wrapped->value == nullptr) return no_optional();
    scope_.emplace_back(node.variables[0], *wrapped->value);
    Value value = of(*node.args[1]);
    scope_.pop_back();
    if (value.is_error() || node.macro == Macro::OptFlatMap) return value;
    return make_optional(std::move(value));
  }

  const Inputs& inputs_;
  bool optional_old_self_;
  std::uint64_t limit_;
  std::uint64_t cost_ = 0;
  std::vector<std::pair<std::string_view, Value>> scope_;
};

}  // namespace

struct Program::Code {
  NodePtr root;
  bool uses_old_self = false;
  bool optional_old_self = false;
  double least_cost = 0;
};

Program::Program(std::shared_ptr<const Code> code) : code_(std::move(code)) {}

std::expected<Program, std::string> Program::compile(std::string_view text, const Environment& environment,
                                                     Result result) {
  const bool wants_text = result == Result::String;
  const std::string prefix = wants_text ? "messageExpression compilation failed: " : "compilation failed: ";
  auto parsed = parse(text);
  if (!parsed) return std::unexpected(prefix + issues_text(text, parsed.error()));
  Checked checked = check(**parsed, environment);
  if (!checked.issues.empty()) return std::unexpected(prefix + issues_text(text, checked.issues));
  if (!checked.type.is(wants_text ? Type::Kind::String : Type::Kind::Bool))
    return std::unexpected(wants_text ? "messageExpression must evaluate to a string"
                                      : "cel expression must evaluate to a bool");
  auto code = std::make_shared<Code>();
  code->root = std::move(*parsed);
  code->uses_old_self = checked.uses_old_self;
  code->optional_old_self = environment.optional_old_self;
  if (environment.self != nullptr) code->least_cost = cel::least_cost(*code->root, *environment.self);
  return Program(std::move(code));
}

bool Program::uses_old_self() const { return code_->uses_old_self; }

double Program::least_cost() const { return code_->least_cost; }

Answer Program::run(const Inputs& inputs, std::uint64_t limit) const {
  Evaluator evaluator(inputs, code_->optional_old_self, limit);
  const Value value = evaluator.of(*code_->root);
  Answer out{.cost = evaluator.cost()};
  out.too_costly = evaluator.too_costly();
  if (out.too_costly) {
    out.error = kTooCostly;
  } else if (const auto* error = value.as<Error>()) {
    out.error = error->what;
  } else if (const auto* flag = value.as<bool>()) {
    out.value = *flag;
  } else if (const auto* text = value.as<std::string>()) {
    out.text = *text;
  } else {
    out.error = "no such overload";
  }
  return out;
}

}  // namespace kopper::plane::cel
