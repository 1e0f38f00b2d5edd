#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/json/value.h"

namespace kopper::plane {

// One step on the way to a field: a member's name, the keys of an item in a list of objects, an item of a set, or a
// position. Ordered as the server orders them.
class PathElement {
 public:
  enum class Kind : std::uint8_t {
    Field,
    Key,
    Value,
    Index,
    Any,  // in patterns only (FieldSet::only): every element
  };

  static PathElement field(std::string name);
  static PathElement key(json::Object key);
  static PathElement value(json::Value scalar);
  static PathElement index(std::int64_t position);
  static PathElement any();

  // `f:name`, `k:{"name":"web"}`, `v:"a"`, `i:0`. An unknown letter before the colon gives Any: written by a newer
  // server, to be passed over.
  static std::expected<PathElement, DecodeError> decode(std::string_view text);
  std::string encode() const;
  // As messages name it: `.name`, `[name="web"]`, `[="a"]`, `[0]`.
  std::string str() const;

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }  // Field

  friend std::weak_ordering operator<=>(const PathElement& a, const PathElement& b);
  friend bool operator==(const PathElement& a, const PathElement& b) { return (a <=> b) == 0; }

 private:
  Kind kind_ = Kind::Field;
  std::string name_;
  json::Value value_;  // Key: an object, its members sorted; Value; Index
};

// Whether an element with this text may be encoded with more escapes than JSON needs, as for HTML.
bool has_html(std::string_view text);

using FieldPath = std::span<const PathElement>;

// ".spec.template.spec.containers[name=\"web\"].image"
std::string to_string(FieldPath path);

// A set of fields, as managedFields keeps it for each manager: a tree of path elements, of which some are members. That
// a field is a member says nothing of what is below it.
class FieldSet {
 public:
  struct Node;

  FieldSet();
  FieldSet(const FieldSet& other);
  FieldSet(FieldSet&& other) noexcept;
  FieldSet& operator=(const FieldSet& other);
  FieldSet& operator=(FieldSet&& other) noexcept;
  ~FieldSet();
  // Nodes in any order; those with the same element are joined, those that hold nothing are left out.
  explicit FieldSet(std::vector<Node> nodes);
  // Paths of plain members: {{"metadata", "labels"}, {"status"}}.
  static FieldSet of(std::initializer_list<std::initializer_list<std::string_view>> paths);

  // FieldsV1: {"f:metadata":{"f:labels":{".":{},"f:app":{}}}}.
  static std::expected<FieldSet, DecodeError> decode(const json::Value& fields, std::size_t depth = 256);
  json::Value encode() const;

  void insert(FieldPath path);
  bool contains(FieldPath path) const;
  bool empty() const;
  std::size_t size() const;
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node* find(const PathElement& element) const;
  const Node* find(std::string_view field) const;

  // Every member; those of a level come before those below it.
  void each(const std::function<void(FieldPath)>& visit) const;
  // One path a line.
  std::string str() const;

  FieldSet& operator|=(FieldSet other);
  // Takes away the members of `other`, not what is below them.
  FieldSet& operator-=(const FieldSet& other);
  // Takes away the members of `other` and all that is below them.
  void exclude(const FieldSet& other);
  // Keeps the members of `pattern` and all that is below them; Any in the pattern stands for every element.
  void only(const FieldSet& pattern);

  friend FieldSet operator&(const FieldSet& a, const FieldSet& b);
  friend bool operator==(const FieldSet& a, const FieldSet& b);

 private:
  void prune();  // nodes that hold nothing

  std::vector<Node> nodes_;  // sorted by element, each a member or with something below
};

struct FieldSet::Node {
  PathElement element;
  bool member = false;
  FieldSet below;

  bool holds_nothing() const { return !member && below.empty(); }
};

// A vector of an incomplete type has no members yet; from here on it has.
inline FieldSet::FieldSet() = default;
inline FieldSet::FieldSet(const FieldSet& other) = default;
inline FieldSet::FieldSet(FieldSet&& other) noexcept = default;
inline FieldSet& FieldSet::operator=(const FieldSet& other) = default;
inline FieldSet& FieldSet::operator=(FieldSet&& other) noexcept = default;
inline FieldSet::~FieldSet() = default;
inline bool FieldSet::empty() const { return nodes_.empty(); }

inline FieldSet operator|(FieldSet a, FieldSet b) { return std::move(a |= std::move(b)); }
inline FieldSet operator-(FieldSet a, const FieldSet& b) { return std::move(a -= b); }

inline bool operator==(const FieldSet::Node& a, const FieldSet::Node& b) {
  return a.member == b.member && a.element == b.element && a.below == b.below;
}

}  // namespace kopper::plane
