#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/api/quantity.h"
#include "kopper/api/selector.h"
#include "kopper/api/validation.h"
#include "kopper/json/value.h"
#include "kopper/plane/problems.h"
#include "kopper/plane/reading.h"

// What the validation of built-in kinds is written with.
namespace kopper::plane::builtin {

using json::Array;
using json::Object;
using json::Value;

// Where a value is. Made of pieces that live on the stack, and written out only when there is something to say: a path
// must not outlive the one that it was made from.
class Path {
 public:
  Path() = default;
  explicit Path(std::string_view name) : name_(name) {}

  Path operator/(std::string_view member) const { return Path(this, member, kMember); }
  Path operator[](std::size_t index) const { return Path(this, {}, index); }
  Path key(std::string_view name) const { return Path(this, name, kKey); }
  std::string str() const;

 private:
  static constexpr std::size_t kMember = SIZE_MAX;
  static constexpr std::size_t kKey = SIZE_MAX - 1;

  Path(const Path* parent, std::string_view name, std::size_t index) : parent_(parent), name_(name), index_(index) {}

  const Path* parent_ = nullptr;
  std::string_view name_;
  std::size_t index_ = kMember;
};

class Check {
 public:
  explicit Check(Problems& problems) : problems_(problems) {}

  void required(const Path& path, std::string_view detail = {}) { problems_.required(path.str(), detail); }
  void invalid(const Path& path, const Value& value, std::string_view detail) {
    problems_.invalid(path.str(), value, detail);
  }
  void duplicate(const Path& path, const Value& value, std::string_view detail = {});
  void forbidden(const Path& path, std::string_view detail) { problems_.forbidden(path.str(), detail); }
  void not_found(const Path& path, const Value& value) { problems_.not_found(path.str(), value); }
  void too_long(const Path& path, std::size_t limit) { problems_.too_long(path.str(), limit); }

  // One of `allowed`, else unsupported. True when it is.
  bool one_of(const Path& path, const Value& value, std::initializer_list<std::string_view> allowed);
  void names(const Path& path, const Value& value, const api::Complaints& complaints);
  // Nothing for what is absent.
  void non_negative(const Path& path, const Value& value);
  void port_number(const Path& path, const Value& value);
  void port_name(const Path& path, std::string_view name);
  void port_number_or_name(const Path& path, const Value& value);
  void immutable(const Path& path, const Value& value, const Value& old);
  void labels(const Path& path, const Value& map);
  void label_selector(const Path& path, const Value& selector);
  void percent_or_number(const Path& path, const Value& value);
  void at_most_100_percent(const Path& path, const Value& value);

  bool clean() const { return problems_.empty(); }
  std::size_t count() const { return problems_.causes().size(); }

 private:
  Problems& problems_;
};

// Of a LabelSelector: nothing when it makes no sense. Absent, it selects nothing, which no Selector can say.
std::optional<api::Selector> selector_of(const Value& selector);
api::Labels labels_of(const Value& map);
// As the server prints a map: null when there is none.
Value or_null(const Value& value);
std::optional<api::Quantity> quantity(const Value& value);
// An IP address, and an address block.
bool is_ip(std::string_view text);
bool is_cidr(std::string_view text);

}  // namespace kopper::plane::builtin
