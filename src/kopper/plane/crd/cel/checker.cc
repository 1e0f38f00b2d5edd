#include "kopper/plane/crd/cel/checker.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "kopper/plane/crd/cel/functions.h"
#include "kopper/plane/crd/go_text.h"
#include "kopper/plane/crd/pattern.h"

namespace kopper::plane::cel {
namespace {

using K = Type::Kind;

constexpr std::array kNames{"dyn",
                            "null",
                            "bool",
                            "int",
                            "uint",
                            "double",
                            "string",
                            "bytes",
                            "list",
                            "map",
                            "object",
                            "duration",
                            "timestamp",
                            "kubernetes.Quantity",
                            "net.IP",
                            "net.CIDR",
                            "kubernetes.URL",
                            "kubernetes.Semver",
                            "optional_type",
                            "type",
                            "",
                            "!error!"};

constexpr std::array<std::string_view, 21> kReserved{
    "true", "false",  "null", "in",   "as",      "break",     "const",  "continue", "else", "for",  "function",
    "if",   "import", "let",  "loop", "package", "namespace", "return", "var",      "void", "while"};

// "__dash__" and the like stand for what a name in an expression cannot hold.
std::string member_name(const std::string& written) {
  if (written.size() > 4 && written.starts_with("__") && written.ends_with("__")) {
    const std::string_view inner = std::string_view(written).substr(2, written.size() - 4);
    if (std::ranges::find(kReserved, inner) != kReserved.end()) return std::string(inner);
  }
  constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
  std::string out;
  std::string_view rest = written;
  while (!rest.empty()) {
    const auto known =
        std::ranges::find_if(kEscapes, [&](const auto& escape) { return rest.starts_with(escape.first); });
    if (known != std::end(kEscapes)) {
      out += known->second;
      rest.remove_prefix(known->first.size());
    } else {
      out += rest[0];
      rest.remove_prefix(1);
    }
  }
  return out;
}

bool may_be_null(const Type& type) {
  return type.is(K::Object) || type.is(K::Duration) || type.is(K::Timestamp) || type.is(K::Quantity) ||
         type.is(K::Null) || type.is(K::Dyn);
}

using Bindings = std::array<std::optional<Type>, 26>;

bool takes(const Type& wanted, const Type& given, Bindings& bound) {
  if (wanted.is(K::Param)) {
    std::optional<Type>& known = bound[static_cast<std::size_t>(wanted.param - 'A')];
    if (!known || known->is(K::Null)) {
      if (known && !may_be_null(given)) return false;
      known = given;
      return true;
    }
    if (given.is(K::Dyn) || known->is(K::Dyn)) {
      known = Type{K::Dyn};
      return true;
    }
    return takes(*known, given, bound);
  }
  if (wanted.is(K::Dyn) || given.is(K::Dyn) || given.is(K::Error) || wanted.is(K::Error)) {
    return true;
  }
  if (given.is(K::Null)) return may_be_null(wanted);
  if (wanted.kind != given.kind) return false;
  if (wanted.is(K::Object)) return wanted.schema == given.schema;
  for (std::size_t i = 0; i < std::min(wanted.of.size(), given.of.size()); ++i)
    if (!takes(wanted.of[i], given.of[i], bound)) return false;
  return true;
}

Type substituted(const Type& type, const Bindings& bound) {
  if (type.is(K::Param)) return bound[static_cast<std::size_t>(type.param - 'A')].value_or(Type{K::Dyn});
  Type out = type;
  for (Type& inner : out.of) inner = substituted(inner, bound);
  return out;
}

class Checker {
 public:
  explicit Checker(const Environment& environment) : environment_(environment) {
    const auto self = environment.self != nullptr ? type_of(*environment.self) : std::nullopt;
    self_ = self.value_or(Type{K::Dyn});
  }

  Checked run(Node& root) {
    out_.type = of(root);
    std::ranges::stable_sort(out_.issues, {}, &Issue::at);
    return std::move(out_);
  }

 private:
  Type complain(std::size_t at, std::string what) {
    out_.issues.push_back({at, std::move(what)});
    return {K::Error};
  }

  Type of(Node& node) {
    switch (node.kind) {
      case Node::Kind::Literal: return of_literal(node.literal);
      case Node::Kind::Name: return of_name(node);
      case Node::Kind::Select: return of_select(node);
      case Node::Kind::Has: return of_select(node).is(K::Error) ? Type{K::Error} : Type{K::Bool};
      case Node::Kind::Call: return of_call(node, false);
      case Node::Kind::Method: return of_method(node);
      case Node::Kind::And:
      case Node::Kind::Or: return of_junction(node);
      case Node::Kind::Choose: return of_choice(node);
      case Node::Kind::List: return of_list(node);
      case Node::Kind::Map: return of_map(node);
      case Node::Kind::Fold: return of_fold(node);
    }
    return {};
  }

  static Type of_literal(const Value& value) {
    for (const K kind : {K::Null, K::Bool, K::Int, K::Uint, K::Double, K::String, K::Bytes})
      if (fits(value, {kind})) return {kind};
    return {};
  }

  const Type* find_variable(std::string_view name) const {
    for (auto at = scope_.rbegin(); at != scope_.rend(); ++at)
      if (at->first == name) return &at->second;
    return nullptr;
  }

  bool is_declared(std::string_view name) const {
    if (find_variable(name) != nullptr) return true;
    return environment_.names.empty() ? name == "self" || name == "oldSelf" : is_given(name);
  }
  bool is_given(std::string_view name) const {
    return std::ranges::find(environment_.names, name) != environment_.names.end();
  }

  Type of_name(Node& node) {
    if (const Type* local = find_variable(node.name)) return *local;
    if (is_given(node.name)) return {K::Dyn};
    if (node.name == "self" && environment_.names.empty()) return self_;
    if (node.name == "oldSelf" && environment_.names.empty()) {
      out_.uses_old_self = true;
      return environment_.optional_old_self ? optional_of(self_) : self_;
    }
    for (const char* type : {"bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"}) {
      if (node.name != type) continue;
      node.kind = Node::Kind::Literal;
      node.literal = TypeName{type};
      return {K::TypeType};
    }
    return complain(node.at, fmt::format("undeclared reference to '{}' (in container '')", node.name));
  }

  // "google.protobuf.Timestamp"
  static std::optional<std::string> type_path(const Node& node) {
    if (node.kind != Node::Kind::Select || node.args[0]->kind != Node::Kind::Select ||
        node.args[0]->args[0]->kind != Node::Kind::Name)
      return std::nullopt;
    std::string path = node.args[0]->args[0]->name + "." + node.args[0]->name + "." + node.name;
    if (path == "google.protobuf.Timestamp" || path == "google.protobuf.Duration") return path;
    return std::nullopt;
  }

  Type of_select(Node& node) {
    if (auto path = type_path(node); path && !is_declared("google")) {
      node.kind = Node::Kind::Literal;
      node.literal = TypeName{std::move(*path)};
      node.args.clear();
      return {K::TypeType};
    }
    Type from = of(*node.args[0]);
    const bool inside_optional = from.is(K::Optional);
    if (inside_optional) from = Type(from.of[0]);
    Type field{K::Dyn};
    if (from.is(K::Error)) return from;
    if (from.is(K::Map)) {
      field = from.of[1];
    } else if (from.is(K::Object)) {
      const std::string name = member_name(node.name);
      const Schema* child = visible_member(*from.schema, name);
      const auto known = child != nullptr ? type_of(*child) : std::nullopt;
      if (!known) return complain(node.at, fmt::format("undefined field '{}'", node.name));
      node.name = name;
      field = *known;
    } else if (!from.is(K::Dyn)) {
      return complain(node.at, fmt::format("type '{}' does not support field selection", from.str()));
    }
    return inside_optional || node.optional ? optional_of(std::move(field)) : field;
  }

  // Of the metadata of a resource, rules see no more than its names.
  static const Schema* visible_member(const Schema& schema, const std::string& name) {
    if (schema.builtin != nullptr && name != "name" && name != "generateName") return nullptr;
    const Member* member = schema.members != nullptr ? schema.members->find(name) : nullptr;
    return member != nullptr ? member->schema : nullptr;
  }

  Type of_method(Node& node) {
    // "sets.contains(a, b)": no method, but a function whose name has a prefix.
    const Node& target = *node.args[0];
    if (target.kind == Node::Kind::Name && !is_declared(target.name)) {
      const std::string qualified = target.name + "." + node.name;
      if (find_function(qualified) != nullptr) {
        node.kind = Node::Kind::Call;
        node.name = qualified;
        node.args.erase(node.args.begin());
        return of_call(node, false);
      }
    }
    return of_call(node, true);
  }

  Type of_call(Node& node, bool method) {
    std::vector<Type> args;
    bool broken = false;
    const std::vector<Overload>* overloads = find_function(node.name);
    if (overloads == nullptr)
      complain(node.at, fmt::format("undeclared reference to '{}' (in container '')", node.name));
    const bool mixed_before = std::exchange(mixed_lists_, node.name == "format");  // '%s %d'.format(['a', 1])
    for (NodePtr& arg : node.args) {
      args.push_back(of(*arg));
      broken = broken || args.back().is(K::Error);
    }
    mixed_lists_ = mixed_before;
    if (overloads == nullptr || broken) return {K::Error};
    std::optional<Type> result;
    for (const Overload& overload : *overloads) {
      if (overload.method != method || overload.takes.size() != args.size()) continue;
      Bindings bound;
      bool right = true;
      for (std::size_t i = 0; i < args.size() && right; ++i) right = takes(overload.takes[i], args[i], bound);
      if (!right) continue;
      Type gives = substituted(overload.gives, bound);
      result = result && *result != gives ? Type{K::Dyn} : std::move(gives);
    }
    if (!result) return no_overload(node, node.name, args, method);
    check_literals(node);
    return *result;
  }

  Type no_overload(const Node& node, std::string_view name, const std::vector<Type>& args, bool method) {
    std::string text;
    for (std::size_t i = method ? 1 : 0; i < args.size(); ++i) text += (text.empty() ? "" : ", ") + args[i].str();
    return complain(node.at, fmt::format("found no matching overload for '{}' applied to '{}({})'", name,
                                         method ? args[0].str() + "." : "", text));
  }

  // What is written out is checked before it is evaluated.
  void check_literals(Node& node) {
    if (node.args.empty()) return;
    const Node& last = *node.args.back();
    const auto* text = last.kind == Node::Kind::Literal ? last.literal.as<std::string>() : nullptr;
    if (text == nullptr) return;
    if (node.name == "matches")
      if (auto pattern = Pattern::compile(*text)) node.pattern = std::move(*pattern);
    const bool wrong = (node.name == "matches" && !node.pattern) ||
                       (node.name == "duration" && !parse_go_duration(*text)) ||
                       (node.name == "timestamp" && !parse_rfc3339(*text));
    if (wrong) complain(last.at, fmt::format("invalid {} argument", node.name));
  }

  // A condition, or a complaint that it is none.
  bool is_condition(const Node& node, const Type& type) {
    if (type.is(K::Bool) || type.is(K::Dyn)) return true;
    if (!type.is(K::Error)) complain(node.at, fmt::format("expected type 'bool' but found '{}'", type.str()));
    return false;
  }

  Type of_junction(Node& node) {
    bool right = true;
    for (NodePtr& arg : node.args) right = is_condition(*arg, of(*arg)) && right;
    return right ? Type{K::Bool} : Type{K::Error};
  }

  Type of_choice(Node& node) {
    const Type condition = of(*node.args[0]);
    const Type yes = of(*node.args[1]);
    const Type no = of(*node.args[2]);
    if (condition.is(K::Error) || yes.is(K::Error) || no.is(K::Error)) return {K::Error};
    const auto joined = join(yes, no);
    if ((!condition.is(K::Bool) && !condition.is(K::Dyn)) || !joined)
      return no_overload(node, "_?_:_", {condition, yes, no}, false);
    return *joined;
  }

  // What both are; nothing when they have nothing in common.
  static std::optional<Type> join(const Type& a, const Type& b) {
    if (a.is(K::Dyn) || b.is(K::Dyn)) return Type{K::Dyn};
    Bindings bound;
    if (takes(a, b, bound)) return a;
    if (takes(b, a, bound)) return b;
    return std::nullopt;
  }

  Type of_list(Node& node) {
    std::optional<Type> items;
    const bool mixed = std::exchange(mixed_lists_, false);
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      Type type = of(*node.args[i]);
      if (type.is(K::Error)) return type;
      if (node.optionals[i]) {
        if (!type.is(K::Optional) && !type.is(K::Dyn))
          return complain(node.args[i]->at,
                          fmt::format("expected type 'optional_type({0})' but found '{0}'", type.str()));
        type = type.is(K::Optional) ? Type(type.of[0]) : type;
      }
      auto joined = items ? join(*items, type) : type;
      if (!joined && mixed) joined = Type{K::Dyn};
      if (!joined)
        return complain(node.args[i]->at, fmt::format("expected type '{}' but found '{}'", items->str(), type.str()));
      items = joined;
    }
    return list_of(items.value_or(Type{K::Dyn}));
  }

  Type of_map(Node& node) {
    std::optional<Type> sides[2];
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      Type type = of(*node.args[i]);
      if (type.is(K::Error)) return type;
      std::optional<Type>& side = sides[i % 2];
      if (i % 2 == 1 && node.optionals[i / 2] && type.is(K::Optional)) type = Type(type.of[0]);
      const auto joined = side ? join(*side, type) : type;
      if (!joined)
        return complain(node.args[i]->at, fmt::format("expected type '{}' but found '{}'", side->str(), type.str()));
      side = joined;
    }
    return map_of(sides[0].value_or(Type{K::Dyn}), sides[1].value_or(Type{K::Dyn}));
  }

  Type of_fold(Node& node) {
    const Type range = of(*node.args[0]);
    if (range.is(K::Error)) return range;
    const bool optional = node.macro == Macro::OptMap || node.macro == Macro::OptFlatMap;
    Type first{K::Dyn};
    Type second{K::Dyn};
    if (optional) {
      if (range.is(K::Optional))
        first = range.of[0];
      else if (!range.is(K::Dyn))
        return no_overload(node, node.name, {range, {K::Dyn}}, true);
    } else if (range.is(K::List)) {
      first = node.variables.size() == 2 ? Type{K::Int} : range.of[0];
      second = range.of[0];
    } else if (range.is(K::Map)) {
      first = range.of[0];
      second = range.of[1];
    } else if (!range.is(K::Dyn)) {
      return complain(node.args[0]->at,
                      fmt::format("expression of type '{}' cannot be range of a comprehension (must be list, map, or "
                                  "dynamic)",
                                  range.str()));
    }
    const std::size_t outer = scope_.size();
    scope_.emplace_back(node.variables[0], first);
    if (node.variables.size() == 2) scope_.emplace_back(node.variables[1], second);
    std::vector<Type> bodies;
    for (std::size_t i = 1; i < node.args.size(); ++i) bodies.push_back(of(*node.args[i]));
    scope_.resize(outer);
    for (const Type& body : bodies)
      if (body.is(K::Error)) return body;
    return of_bodies(node, range, first, bodies);
  }

  Type of_bodies(const Node& node, const Type& range, const Type& element, const std::vector<Type>& bodies) {
    const bool filtered = bodies.size() == 2;
    if (filtered && !is_condition(*node.args[1], bodies[0])) return {K::Error};
    switch (node.macro) {
      case Macro::All:
      case Macro::Exists:
      case Macro::ExistsOne: return is_condition(*node.args[1], bodies[0]) ? Type{K::Bool} : Type{K::Error};
      case Macro::Filter: return is_condition(*node.args[1], bodies[0]) ? list_of(element) : Type{K::Error};
      case Macro::SortBy: return range;
      case Macro::Map:
      case Macro::TransformList: return list_of(bodies.back());
      case Macro::TransformMap: {
        const Type keys = range.is(K::Map) ? Type(range.of[0]) : Type{range.is(K::List) ? K::Int : K::Dyn};
        return map_of(keys, bodies.back());
      }
      case Macro::OptMap: return optional_of(bodies[0]);
      case Macro::OptFlatMap: return bodies[0];
    }
    return {};
  }

  const Environment& environment_;
  Type self_;
  bool mixed_lists_ = false;
  std::vector<std::pair<std::string, Type>> scope_;
  Checked out_;
};

}  // namespace

std::string Type::str() const {
  if (kind == K::Param) return std::string(1, param);
  std::string out = kNames[static_cast<std::size_t>(kind)];
  if (of.empty()) return out;
  std::string inner;
  for (const Type& one : of) inner += (inner.empty() ? "" : ", ") + one.str();
  return fmt::format("{}({})", out, inner);
}

Type list_of(Type items) { return {.kind = K::List, .of = {std::move(items)}}; }
Type map_of(Type keys, Type values) { return {.kind = K::Map, .of = {std::move(keys), std::move(values)}}; }
Type optional_of(Type inner) { return {.kind = K::Optional, .of = {std::move(inner)}}; }

std::optional<Type> type_of(const Schema& schema) {
  switch (schema.type) {
    case Schema::Type::Any: return std::nullopt;
    case Schema::Type::IntOrString: return Type{K::Dyn};
    case Schema::Type::Boolean: return Type{K::Bool};
    case Schema::Type::Integer: return Type{K::Int};
    case Schema::Type::Number: return Type{K::Double};
    case Schema::Type::String:
      if (schema.format == "byte") return Type{K::Bytes};
      if (schema.format == "duration") return Type{K::Duration};
      if (schema.format == "date" || schema.format == "date-time") return Type{K::Timestamp};
      return Type{K::String};
    case Schema::Type::List: {
      const auto items = schema.items != nullptr ? type_of(*schema.items) : std::nullopt;
      if (!items) return std::nullopt;
      return list_of(*items);
    }
    case Schema::Type::Object: {
      if (schema.members == nullptr && schema.values != nullptr) {
        const auto values = type_of(*schema.values);
        if (!values) return std::nullopt;
        return map_of({K::String}, *values);
      }
      return Type{.kind = K::Object, .schema = &schema};
    }
  }
  return std::nullopt;
}

Checked check(Node& root, const Environment& environment) { return Checker(environment).run(root); }

}  // namespace kopper::plane::cel
