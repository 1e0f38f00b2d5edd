#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kopper/api/quantity.h"
#include "kopper/json/value.h"
#include "kopper/plane/ip.h"
#include "kopper/plane/schema.h"

namespace kopper::plane::cel {

using Span = std::chrono::nanoseconds;
using Instant = std::chrono::sys_time<std::chrono::nanoseconds>;

struct Semver {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::int64_t patch = 0;
  std::vector<std::string> before;  // "rc.1" in parts

  friend bool operator==(const Semver&, const Semver&) = default;
};

struct Url {
  std::string scheme;
  std::string host;  // with its port
  std::string path;  // escaped as written
  std::string query;
  std::string text;

  friend bool operator==(const Url& a, const Url& b) { return a.text == b.text; }
};

class Value;

struct Bytes {
  std::string data;
};
struct TypeName {
  std::string name;
};
struct Error {
  std::string what;
};
struct Optional {
  std::shared_ptr<const Value> value;  // null: none
};
// An object or a list of the request, read where it lies.
struct JsonRef {
  const json::Value* value;
  const Schema* schema;  // may be null
};

// What an expression evaluates to; an error is a value too, since && and || may overlook it.
class Value {
 public:
  using List = std::shared_ptr<const std::vector<Value>>;
  using Map = std::shared_ptr<const std::vector<std::pair<Value, Value>>>;
  using Data = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Bytes, List, Map,
                            JsonRef, Span, Instant, api::Quantity, Ip, Cidr, std::shared_ptr<const Url>,
                            std::shared_ptr<const Semver>, Optional, TypeName, Error>;

  Value() : data_(nullptr) {}
  template <class T>
    requires(!std::same_as<std::remove_cvref_t<T>, Value> && std::constructible_from<Data, T>)
  Value(T&& data) : data_(std::forward<T>(data)) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data_);
  }
  bool is_error() const { return std::holds_alternative<Error>(data_); }
  bool is_null() const { return std::holds_alternative<std::nullptr_t>(data_); }
  bool is_list() const;
  bool is_map() const;

  // Of a list or a map, or the characters of a text; 0 of anything else.
  std::size_t size() const;
  Value at(std::size_t index) const;  // of a list; the caller knows that it is there
  const Schema* list_schema() const;  // of a list of the request
  // Of a map.
  bool find(const Value& key, Value& out) const;
  Value key_at(std::size_t index) const;
  Value value_at(std::size_t index) const;

 private:
  Data data_;
};

Value from_json(const json::Value& value, const Schema* schema);
Value make_list(std::vector<Value> items);
Value make_error(std::string what);
Value make_optional(Value value);
Value no_optional();

// By value: 1 == 1.0, sets in any order.
bool equal(const Value& a, const Value& b);
// -1, 0, 1; nothing when they cannot be ordered.
std::optional<int> order(const Value& a, const Value& b);
// "int", "string", "list" …: what type() says.
std::string_view type_name(const Value& value);
// As string() and error messages print it.
std::string printed(const Value& value);
std::size_t runes(std::string_view text);

}  // namespace kopper::plane::cel
