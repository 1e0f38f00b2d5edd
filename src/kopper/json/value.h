#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kopper/base/error.h"

namespace kopper::json {

class Value;
using Array = std::vector<Value>;

// Members in the order they were added. Lookup is linear: Kubernetes objects have few members a level.
class Object {
 public:
  using Member = std::pair<std::string, Value>;

  Object() = default;
  // Of two members with the same key, the later one wins, in the place of the first.
  Object(std::initializer_list<Member> members);
  // Takes the members as they are: the caller knows that no key comes twice.
  explicit Object(std::vector<Member> members);

  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  Value& operator[](std::string_view key);  // adds null when absent
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  bool erase(std::string_view key);
  void reserve(std::size_t members);

  bool empty() const;
  std::size_t size() const;
  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }
  auto begin() { return members_.begin(); }
  auto end() { return members_.end(); }

  // Equal when they hold the same members, in any order.
  friend bool operator==(const Object& a, const Object& b);

 private:
  std::vector<Member> members_;
};

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

// Any JSON value. A plain value type: copy, compare, change. Integers stay integers.
class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}
  template <std::same_as<bool> T>  // no pointer becomes "true"
  Value(T v) : data_(v) {}
  template <Integer T>
  Value(T v) {
    if (std::in_range<std::int64_t>(v)) {
      data_ = static_cast<std::int64_t>(v);
    } else {
      data_ = static_cast<std::uint64_t>(v);
    }
  }
  Value(double v) : data_(v) {}
  Value(const char* v) : data_(std::string(v)) {}
  Value(std::string_view v) : data_(std::string(v)) {}
  Value(std::string v) : data_(std::move(v)) {}
  Value(Array v) : data_(std::move(v)) {}
  Value(Object v) : data_(std::move(v)) {}

  bool is_null() const { return data_.index() == 0; }
  bool is_object() const { return std::holds_alternative<Object>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_number() const;

  // Null pointers when it is something else.
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&data_); }
  const double* as_double() const { return std::get_if<double>(&data_); }
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const Array* as_array() const { return std::get_if<Array>(&data_); }
  const Object* as_object() const { return std::get_if<Object>(&data_); }
  std::string* as_string() { return std::get_if<std::string>(&data_); }
  Array* as_array() { return std::get_if<Array>(&data_); }
  Object* as_object() { return std::get_if<Object>(&data_); }
  // Any number, whatever it is stored as; an integer beyond 2^53 may lose digits.
  std::optional<double> number() const;
  // "an object", "a string", "null", for error messages.
  std::string_view type_name() const;

  // Reading a path that may not be there: v["spec"]["replicas"].as_int(). Absent, out of range or of another type:
  // null.
  const Value& operator[](std::string_view key) const;
  const Value& operator[](std::size_t index) const;
  const Value& operator[](std::size_t index) { return std::as_const(*this)[index]; }
  // Writing: null becomes an object, and so does anything else that is not one; adds the member when it is absent.
  Value& operator[](std::string_view key);
  // The text of a string member, or "" : v.text("kind").
  std::string_view text(std::string_view key) const;

  const auto& data() const { return data_; }
  auto& data() { return data_; }

  // Numbers are equal when they are the same number: 1 == 1.0.
  friend bool operator==(const Value& a, const Value& b);

 private:
  // uint64 only for what does not fit int64.
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> data_;
};

// `depth` bounds recursion here and in everything that later walks the value: do not raise it without need.
struct Limits {
  std::size_t depth = 256;
  std::size_t bytes = std::size_t{256} << 20U;
};

// One JSON document, whole. Refuses what is not JSON (RFC 8259, UTF-8), what is after the end, duplicate keys, numbers
// beyond double, and what exceeds the limits. An integer that fits neither int64 nor uint64 becomes a double.
std::expected<Value, DecodeError> parse(std::string_view text, Limits limits = {});

// Compact, members in order.
std::string dump(const Value& value);
// Four-space indentation and a newline at the end, as kubectl -o json prints it.
std::string dump_pretty(const Value& value);

}  // namespace kopper::json
