#include "kopper/plane/apply/field_set.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "kopper/json/writer.h"

namespace kopper::plane {
namespace {

using Node = FieldSet::Node;

// Values of different types have an order as well: numbers, strings, booleans, lists, objects, null.
int rank(const json::Value& value) {
  if (value.is_number()) return 0;
  if (value.is_string()) return 1;
  if (value.as_bool() != nullptr) return 2;
  if (value.is_array()) return 3;
  return value.is_object() ? 4 : 5;
}

std::weak_ordering compare_doubles(double a, double b) {
  if (a < b) return std::weak_ordering::less;
  return a > b ? std::weak_ordering::greater : std::weak_ordering::equivalent;
}

// Exact: an order by rounded doubles would not be one.
std::weak_ordering compare_int(std::int64_t a, double b) {
  if (b >= 0x1p63) return std::weak_ordering::less;
  if (b < -0x1p63) return std::weak_ordering::greater;
  const double whole = std::floor(b);
  const auto as_int = static_cast<std::int64_t>(whole);
  if (a != as_int) return a <=> as_int;
  return whole < b ? std::weak_ordering::less : std::weak_ordering::equivalent;
}

std::weak_ordering compare_uint(std::uint64_t a, double b) {  // only above int64
  if (b >= 0x1p64) return std::weak_ordering::less;
  if (b < 0x1p63) return std::weak_ordering::greater;
  return a <=> static_cast<std::uint64_t>(b);
}

struct CompareNumbers {
  std::weak_ordering operator()(std::int64_t a, std::int64_t b) const { return a <=> b; }
  std::weak_ordering operator()(std::uint64_t a, std::uint64_t b) const { return a <=> b; }
  std::weak_ordering operator()(std::int64_t, std::uint64_t) const { return std::weak_ordering::less; }
  std::weak_ordering operator()(std::uint64_t, std::int64_t) const { return std::weak_ordering::greater; }
  std::weak_ordering operator()(double a, double b) const { return compare_doubles(a, b); }
  std::weak_ordering operator()(std::int64_t a, double b) const { return compare_int(a, b); }
  std::weak_ordering operator()(double a, std::int64_t b) const { return 0 <=> compare_int(b, a); }
  std::weak_ordering operator()(std::uint64_t a, double b) const { return compare_uint(a, b); }
  std::weak_ordering operator()(double a, std::uint64_t b) const { return 0 <=> compare_uint(b, a); }
  template <class A, class B>
  std::weak_ordering operator()(const A&, const B&) const {
    return std::weak_ordering::equivalent;  // rank() keeps others away
  }
};

std::weak_ordering compare(const json::Value& a, const json::Value& b) {
  const int kind = rank(a);
  if (kind != rank(b)) return kind <=> rank(b);
  switch (kind) {
    case 0: return std::visit(CompareNumbers(), a.data(), b.data());
    case 1: return *a.as_string() <=> *b.as_string();
    case 2: return *a.as_bool() <=> *b.as_bool();
    case 5: return std::weak_ordering::equivalent;
    default: return json::dump(a) <=> json::dump(b);  // no list has such items; somebody wrote managedFields by hand
  }
}

std::weak_ordering compare_keys(const json::Object& a, const json::Object& b) {
  auto at = a.begin();
  auto bt = b.begin();
  for (; at != a.end() && bt != b.end(); ++at, ++bt) {
    if (const auto order = at->first <=> bt->first; order != 0) return order;
    if (const auto order = compare(at->second, bt->second); order != 0) return order;
  }
  return a.size() <=> b.size();
}

json::Object sorted(json::Object key) {
  if (key.size() < 2) return key;
  std::ranges::sort(key, {}, [](const json::Object::Member& member) -> const std::string& { return member.first; });
  return key;
}

// As encoding/json writes text that may end up in HTML.
std::string dump_escaped(const json::Value& value) {
  std::string plain = json::dump(value);
  if (!has_html(plain)) return plain;
  std::string out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const std::string_view rest = std::string_view(plain).substr(i);
    if (plain[i] == '<' || plain[i] == '>' || plain[i] == '&') {
      out += fmt::format("\\u00{:02x}", plain[i]);
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += plain[i];
    }
  }
  return out;
}

std::string message_text(const json::Value& value) { return json::dump(value); }

bool by_element(const Node& a, const Node& b) { return a.element < b.element; }

std::unexpected<DecodeError> garbage(std::string what, std::string_view text) {
  return std::unexpected(DecodeError{.what = fmt::format("{}: {}", what, text), .path = ""});
}

std::expected<FieldSet, DecodeError> decode_level(const json::Object& fields, std::size_t depth) {
  std::vector<Node> nodes;
  nodes.reserve(fields.size());
  for (const auto& [key, value] : fields) {
    if (key == ".") continue;
    auto element = PathElement::decode(key);
    if (!element) return std::unexpected(std::move(element).error());
    if (element->kind() == PathElement::Kind::Any) continue;
    Node node{.element = std::move(*element)};
    const json::Object* inside = value.as_object();
    if (inside == nullptr && !value.is_null())
      return std::unexpected(
          DecodeError{.what = fmt::format("expected an object, found {}", value.type_name()), .path = key});
    if (inside != nullptr && !inside->empty()) {
      if (depth == 0) return std::unexpected(DecodeError{.what = "nested too deeply", .path = key});
      auto below = decode_level(*inside, depth - 1);
      if (!below) {
        below.error().path = below.error().path.empty() ? key : fmt::format("{}.{}", key, below.error().path);
        return std::unexpected(std::move(below).error());
      }
      node.below = std::move(*below);
    }
    node.member = node.below.empty() || inside->contains(".");
    nodes.push_back(std::move(node));
  }
  return FieldSet(std::move(nodes));
}

json::Object encode_level(const Node* self, const std::vector<Node>& nodes) {
  std::vector<json::Object::Member> out;
  out.reserve(nodes.size() + 1);
  if (self != nullptr && self->member && !nodes.empty()) out.emplace_back(".", json::Object());
  for (const Node& node : nodes) out.emplace_back(node.element.encode(), encode_level(&node, node.below.nodes()));
  return json::Object(std::move(out));
}

void visit_level(const FieldSet& set, std::vector<PathElement>& path, const std::function<void(FieldPath)>& visit) {
  for (const Node& node : set.nodes()) {
    if (!node.member) continue;
    path.push_back(node.element);
    visit(path);
    path.pop_back();
  }
  for (const Node& node : set.nodes()) {
    if (node.below.empty()) continue;
    path.push_back(node.element);
    visit_level(node.below, path, visit);
    path.pop_back();
  }
}

}  // namespace

PathElement PathElement::field(std::string name) {
  PathElement out;
  out.name_ = std::move(name);
  return out;
}

PathElement PathElement::key(json::Object key) {
  PathElement out;
  out.kind_ = Kind::Key;
  out.value_ = sorted(std::move(key));
  return out;
}

PathElement PathElement::value(json::Value scalar) {
  PathElement out;
  out.kind_ = Kind::Value;
  out.value_ = std::move(scalar);
  return out;
}

PathElement PathElement::index(std::int64_t position) {
  PathElement out;
  out.kind_ = Kind::Index;
  out.value_ = position;
  return out;
}

PathElement PathElement::any() {
  PathElement out;
  out.kind_ = Kind::Any;
  return out;
}

std::expected<PathElement, DecodeError> PathElement::decode(std::string_view text) {
  if (text.size() < 2) return garbage("key must be 2 characters long", text);
  if (text[1] != ':') return garbage("missing colon", text);
  const std::string_view rest = text.substr(2);
  switch (text[0]) {
    case 'f': return field(std::string(rest));
    case 'i': {
      std::int64_t position = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), position);
      if (error != std::errc() || end != rest.data() + rest.size()) return garbage("not a position", text);
      return index(position);
    }
    case 'k':
    case 'v': {
      auto value = json::parse(rest);
      if (!value) return garbage(value.error().what, text);
      if (text[0] == 'v') return PathElement::value(std::move(*value));
      if (!value->is_object()) return garbage("expected an object", text);
      return key(std::move(*value->as_object()));
    }
    default: return any();
  }
}

std::string PathElement::encode() const {
  switch (kind_) {
    case Kind::Field: return "f:" + name_;
    case Kind::Key: return "k:" + dump_escaped(value_);
    case Kind::Value: return "v:" + dump_escaped(value_);
    case Kind::Index: return "i:" + json::dump(value_);
    case Kind::Any: break;
  }
  return "*:";
}

std::string PathElement::str() const {
  switch (kind_) {
    case Kind::Field: return "." + name_;
    case Kind::Key: {
      std::string out = "[";
      for (const auto& [name, value] : *value_.as_object())
        out += fmt::format("{}{}={}", out.size() > 1 ? "," : "", name, message_text(value));
      return out + "]";
    }
    case Kind::Value: return fmt::format("[={}]", message_text(value_));
    case Kind::Index: return fmt::format("[{}]", json::dump(value_));
    case Kind::Any: break;
  }
  return "[*]";
}

bool has_html(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c == '<' || c == '>' || c == '&' || c == '\xE2'; });
}

std::weak_ordering operator<=>(const PathElement& a, const PathElement& b) {
  if (a.kind_ != b.kind_) return a.kind_ <=> b.kind_;
  switch (a.kind_) {
    case PathElement::Kind::Field: return a.name_ <=> b.name_;
    case PathElement::Kind::Key: return compare_keys(*a.value_.as_object(), *b.value_.as_object());
    default: return compare(a.value_, b.value_);
  }
}

std::string to_string(FieldPath path) {
  std::string out;
  for (const PathElement& element : path) out += element.str();
  return out;
}

FieldSet::FieldSet(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  if (!std::ranges::is_sorted(nodes_, by_element)) std::ranges::sort(nodes_, by_element);
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i - 1].element != nodes_[i].element) continue;
    nodes_[i].member |= std::exchange(nodes_[i - 1].member, false);
    nodes_[i].below |= std::exchange(nodes_[i - 1].below, {});
  }
  prune();
}

FieldSet FieldSet::of(std::initializer_list<std::initializer_list<std::string_view>> paths) {
  FieldSet out;
  for (const auto& names : paths) {
    std::vector<PathElement> path;
    for (const std::string_view name : names)
      path.push_back(name == "*" ? PathElement::any() : PathElement::field(std::string(name)));
    out.insert(path);
  }
  return out;
}

std::expected<FieldSet, DecodeError> FieldSet::decode(const json::Value& fields, std::size_t depth) {
  if (fields.is_null()) return FieldSet();
  const json::Object* object = fields.as_object();
  if (object == nullptr)
    return std::unexpected(
        DecodeError{.what = fmt::format("expected an object, found {}", fields.type_name()), .path = ""});
  return decode_level(*object, depth);
}

json::Value FieldSet::encode() const { return encode_level(nullptr, nodes_); }

void FieldSet::insert(FieldPath path) {
  if (path.empty()) return;  // nobody owns the whole object
  auto at = std::ranges::lower_bound(nodes_, path.front(), {}, &Node::element);
  if (at == nodes_.end() || at->element != path.front()) at = nodes_.insert(at, Node{.element = path.front()});
  if (path.size() == 1) {
    at->member = true;
  } else {
    at->below.insert(path.subspan(1));
  }
}

bool FieldSet::contains(FieldPath path) const {
  if (path.empty()) return false;
  const Node* node = find(path.front());
  if (node == nullptr) return false;
  return path.size() == 1 ? node->member : node->below.contains(path.subspan(1));
}

std::size_t FieldSet::size() const {
  std::size_t out = 0;
  for (const Node& node : nodes_) out += (node.member ? 1 : 0) + node.below.size();
  return out;
}

const Node* FieldSet::find(const PathElement& element) const {
  const auto at = std::ranges::lower_bound(nodes_, element, {}, &Node::element);
  return at != nodes_.end() && at->element == element ? &*at : nullptr;
}

const Node* FieldSet::find(std::string_view field) const {
  // Fields come before all others.
  const auto at = std::ranges::partition_point(nodes_, [field](const Node& node) {
    return node.element.kind() == PathElement::Kind::Field && node.element.name() < field;
  });
  const bool found =
      at != nodes_.end() && at->element.kind() == PathElement::Kind::Field && at->element.name() == field;
  return found ? &*at : nullptr;
}

void FieldSet::each(const std::function<void(FieldPath)>& visit) const {
  std::vector<PathElement> path;
  visit_level(*this, path, visit);
}

std::string FieldSet::str() const {
  std::string out;
  each([&out](FieldPath path) { out += (out.empty() ? "" : "\n") + to_string(path); });
  return out;
}

void FieldSet::prune() {
  std::erase_if(nodes_, [](const Node& node) { return node.holds_nothing(); });
}

FieldSet& FieldSet::operator|=(FieldSet other) {
  if (nodes_.empty()) {
    nodes_ = std::move(other.nodes_);
    return *this;
  }
  if (other.nodes_.empty()) return *this;
  std::vector<Node> out;
  out.reserve(nodes_.size() + other.nodes_.size());
  auto a = nodes_.begin();
  auto b = other.nodes_.begin();
  while (a != nodes_.end() && b != other.nodes_.end()) {
    const auto order = a->element <=> b->element;
    if (order == 0) {
      a->member |= b->member;
      a->below |= std::move(b->below);
      ++b;
    }
    out.push_back(std::move(order <= 0 ? *a++ : *b++));
  }
  std::move(a, nodes_.end(), std::back_inserter(out));
  std::move(b, other.nodes_.end(), std::back_inserter(out));
  nodes_ = std::move(out);
  return *this;
}

FieldSet& FieldSet::operator-=(const FieldSet& other) {
  auto a = nodes_.begin();
  auto b = other.nodes_.begin();
  while (a != nodes_.end() && b != other.nodes_.end()) {
    const auto order = a->element <=> b->element;
    if (order == 0) {
      if (b->member) a->member = false;
      a->below -= b->below;
    }
    if (order <= 0) ++a;
    if (order >= 0) ++b;
  }
  prune();
  return *this;
}

void FieldSet::exclude(const FieldSet& other) {
  auto a = nodes_.begin();
  auto b = other.nodes_.begin();
  while (a != nodes_.end() && b != other.nodes_.end()) {
    const auto order = a->element <=> b->element;
    if (order == 0 && b->member) {
      a->member = false;
      a->below = {};
    } else if (order == 0) {
      a->below.exclude(b->below);
    }
    if (order <= 0) ++a;
    if (order >= 0) ++b;
  }
  prune();
}

void FieldSet::only(const FieldSet& pattern) {
  for (Node& node : nodes_) {
    const auto fits = [&node](const Node& p) {
      return p.element.kind() == PathElement::Kind::Any || p.element == node.element;
    };
    const auto found = std::ranges::find_if(pattern.nodes_, fits);
    if (found == pattern.nodes_.end()) {
      node = Node{.element = std::move(node.element)};
    } else if (!found->member) {
      node.below.only(found->below);
    }
  }
  prune();
}

FieldSet operator&(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  auto at = a.nodes_.begin();
  auto bt = b.nodes_.begin();
  while (at != a.nodes_.end() && bt != b.nodes_.end()) {
    const auto order = at->element <=> bt->element;
    if (order == 0) {
      Node node{.element = at->element, .member = at->member && bt->member, .below = at->below & bt->below};
      if (!node.holds_nothing()) out.nodes_.push_back(std::move(node));
    }
    if (order <= 0) ++at;
    if (order >= 0) ++bt;
  }
  return out;
}

bool operator==(const FieldSet& a, const FieldSet& b) { return a.nodes_ == b.nodes_; }

}  // namespace kopper::plane
