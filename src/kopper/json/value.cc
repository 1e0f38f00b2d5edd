#include "kopper/json/value.h"

#include <algorithm>
#include <cmath>

#include "kopper/json/detail/key_index.h"

namespace kopper::json {
namespace {

const Value kNull;

// An integer and a double are the same number only when the double is that integer exactly.
template <class Int>
bool same_number(Int i, double d) {
  constexpr double kEnd = std::is_signed_v<Int> ? 0x1p63 : 0x1p64;
  constexpr double kBegin = std::is_signed_v<Int> ? -0x1p63 : 0.0;
  return d >= kBegin && d < kEnd && std::trunc(d) == d && static_cast<Int>(d) == i;
}

struct Equal {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  bool operator()(std::int64_t a, double b) const { return same_number(a, b); }
  bool operator()(double a, std::int64_t b) const { return same_number(b, a); }
  bool operator()(std::uint64_t a, double b) const { return same_number(a, b); }
  bool operator()(double a, std::uint64_t b) const { return same_number(b, a); }
  template <class A, class B>
  bool operator()(const A&, const B&) const {
    return false;
  }
};

}  // namespace

Object::Object(std::initializer_list<Member> members) {
  members_.reserve(members.size());
  for (const auto& [key, value] : members) (*this)[key] = value;
}

Object::Object(std::vector<Member> members) : members_(std::move(members)) {}

const Value* Object::find(std::string_view key) const {
  for (const auto& member : members_) {
    if (member.first == key) return &member.second;
  }
  return nullptr;
}

Value* Object::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

Value& Object::operator[](std::string_view key) {
  if (Value* found = find(key)) return *found;
  return members_.emplace_back(std::string(key), Value()).second;
}

bool Object::erase(std::string_view key) {
  return std::erase_if(members_, [key](const Member& m) { return m.first == key; }) != 0;
}

void Object::reserve(std::size_t members) { members_.reserve(members); }
bool Object::empty() const { return members_.empty(); }
std::size_t Object::size() const { return members_.size(); }

bool operator==(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  // Most equal objects have the same order; only from the first difference on does order have to be ignored.
  auto [at, bt] =
      std::mismatch(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return x.first == y.first; });
  if (!std::equal(a.begin(), at, b.begin(), [](const auto& x, const auto& y) { return x.second == y.second; }))
    return false;
  if (at == a.end()) return true;
  const detail::KeyIndex index(b);
  return std::all_of(at, a.end(), [&index](const auto& member) {
    const Value* other = index.find(member.first);
    return other != nullptr && *other == member.second;
  });
}

bool Value::is_number() const { return data_.index() >= 2 && data_.index() <= 4; }

std::optional<double> Value::number() const {
  if (const auto* i = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&data_)) return static_cast<double>(*u);
  if (const auto* d = std::get_if<double>(&data_)) return *d;
  return std::nullopt;
}

std::string_view Value::type_name() const {
  constexpr std::string_view kNames[] = {"null",     "a boolean", "an integer", "an integer",
                                         "a number", "a string",  "an array",   "an object"};
  return kNames[data_.index()];
}

const Value& Value::operator[](std::string_view key) const {
  const Object* object = as_object();
  const Value* found = object == nullptr ? nullptr : object->find(key);
  return found == nullptr ? kNull : *found;
}

const Value& Value::operator[](std::size_t index) const {
  const Array* array = as_array();
  return array == nullptr || index >= array->size() ? kNull : (*array)[index];
}

Value& Value::operator[](std::string_view key) {
  if (!is_object()) data_ = Object();
  return (*as_object())[key];
}

std::string_view Value::text(std::string_view key) const {
  const std::string* text = (*this)[key].as_string();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

bool operator==(const Value& a, const Value& b) { return std::visit(Equal{}, a.data_, b.data_); }

}  // namespace kopper::json
