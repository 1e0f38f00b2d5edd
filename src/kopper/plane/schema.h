#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/meta/type.h"

// What the server knows of the JSON of a resource. Built-in kinds (from the tables of `meta`) and custom resources
// (from the schema in their CustomResourceDefinition) have the same form, so that defaulting, pruning, server-side
// apply and OpenAPI are each written once.
namespace kopper::plane {

struct Schema;
struct Constraints;  // of a custom resource: pattern, minimum, enum, CEL rules … (crd/constraints.h)

struct Member {
  std::string name;
  const Schema* schema = nullptr;
  bool required = false;
  // How a value that is empty, zero or absent is kept. Built-in kinds follow the JSON of the Go structs behind them.
  enum class Blank : std::uint8_t {
    Keep,    // as it was sent
    Omit,    // empty is absent
    Always,  // absent is empty: `resources: {}`
    Null,    // absent and empty are null: `rules: null`
  };
  Blank blank = Blank::Keep;
  bool is_always() const { return blank == Blank::Always || blank == Blank::Null; }
  std::optional<json::Value> default_value;
};

// The named members of an object, in the order the server writes them.
class Members {
 public:
  Members() = default;
  explicit Members(std::vector<Member> members);

  const Member* find(std::string_view name) const;
  // The same, for names that come in about this order: looks from `guess` on first, which then is past the found one.
  const Member* find(std::string_view name, std::size_t& guess) const;
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }
  std::size_t size() const { return list_.size(); }
  // How many are written even when they are absent: Blank::Always and Blank::Null.
  std::size_t always() const { return always_; }
  const Member& operator[](std::size_t i) const { return list_[i]; }

 private:
  std::vector<Member> list_;
  std::vector<std::uint16_t> by_name_;  // indexes into list_, sorted to find names
  std::size_t always_ = 0;
};

struct Schema {
  enum class Type : std::uint8_t { Any, Object, List, String, Integer, Number, Boolean, IntOrString };
  enum class List : std::uint8_t { Atomic, Set, Map };

  Type type = Type::Any;
  bool nullable = false;
  bool preserve_unknown = false;  // Object, Any: members that no schema names stay
  bool embedded = false;          // an object with apiVersion, kind and metadata of its own
  bool atomic = false;            // Object: server-side apply takes it as one value
  List list = List::Atomic;
  std::vector<std::string> keys;             // List::Map: the members that tell items apart
  const Members* members = nullptr;          // Object
  const Schema* values = nullptr;            // Object: of all members that `members` does not name (a map)
  const Schema* items = nullptr;             // List
  std::string format;                        // "date-time", "int32", "quantity" …
  const meta::Type* builtin = nullptr;       // the table that it was made of
  const Constraints* constraints = nullptr;  // null: none

  // Of the member `name`, whether named or a map's; null when there is none.
  const Schema* child(std::string_view name) const;
};

// Owns schemas, which point at each other; addresses stay.
class SchemaPool {
 public:
  Schema& add(Schema schema = Schema());
  const Members* add(std::vector<Member> members);

 private:
  std::deque<Schema> schemas_;
  std::deque<Members> members_;
};

// The schemas of the built-in kinds, made when first asked for.
class BuiltinSchemas {
 public:
  const Schema& of(const meta::Type& type);

 private:
  const Schema& of_field(const meta::Field& field);

  SchemaPool pool_;
  std::unordered_map<const meta::Type*, Schema*> known_;
};

}  // namespace kopper::plane
