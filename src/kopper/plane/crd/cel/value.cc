#include "kopper/plane/crd/cel/value.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "kopper/plane/crd/go_text.h"

namespace kopper::plane::cel {
namespace {

const json::Array* json_list(const Value& value) {
  const JsonRef* ref = value.as<JsonRef>();
  return ref != nullptr ? ref->value->as_array() : nullptr;
}

const json::Object* json_map(const Value& value) {
  const JsonRef* ref = value.as<JsonRef>();
  return ref != nullptr ? ref->value->as_object() : nullptr;
}

std::string from_base64(std::string_view text) {
  std::string out;
  unsigned bits = 0;
  unsigned buffer = 0;
  for (const char c : text) {
    unsigned value = 0;
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<unsigned>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<unsigned>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<unsigned>(c - '0') + 52;
    } else if (c == '+' || c == '-') {
      value = 62;
    } else if (c == '/' || c == '_') {
      value = 63;
    } else {
      break;
    }
    buffer = (buffer << 6U | value) & 0xFFFFFFU;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(buffer >> bits & 0xFFU);
    }
  }
  return out;
}

Value text_of(const std::string& text, const Schema* schema) {
  if (schema == nullptr || schema->type != Schema::Type::String || schema->format.empty()) return text;
  if (schema->format == "byte") return Bytes{from_base64(text)};
  if (schema->format == "duration") {
    if (const auto duration = parse_go_duration(text)) return *duration;
    return make_error(fmt::format("Invalid duration: {}", text));
  }
  if (schema->format == "date") {
    if (const auto date = parse_full_date(text)) return Instant(*date);
    return make_error(fmt::format("Invalid date formatted string {}", text));
  }
  if (schema->format == "date-time") {
    if (const auto at = parse_rfc3339(text)) return Instant(*at);
    return make_error(fmt::format("Invalid date-time formatted string {}", text));
  }
  return text;
}

bool same_items(const Value& a, const Value& b, const Schema* schema) {
  const std::size_t size = a.size();
  if (size != b.size()) return false;
  const bool any_order = schema != nullptr && schema->list != Schema::List::Atomic && size <= 1000;
  for (std::size_t i = 0; i < size; ++i) {
    const Value item = a.at(i);
    if (!any_order) {
      if (!equal(item, b.at(i))) return false;
      continue;
    }
    bool found = false;
    for (std::size_t j = 0; j < size && !found; ++j) found = equal(item, b.at(j));
    if (!found) return false;
  }
  return true;
}

bool same_entries(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    Value other;
    if (!b.find(a.key_at(i), other) || !equal(a.value_at(i), other)) return false;
  }
  return true;
}

int sign(auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; }

// Numbers of any two types; nothing when one is not a number.
std::optional<int> number_order(const Value& a, const Value& b) {
  const auto* ai = a.as<std::int64_t>();
  const auto* bi = b.as<std::int64_t>();
  const auto* au = a.as<std::uint64_t>();
  const auto* bu = b.as<std::uint64_t>();
  const auto* ad = a.as<double>();
  const auto* bd = b.as<double>();
  if (ai != nullptr && bi != nullptr) return sign(*ai, *bi);
  if (au != nullptr && bu != nullptr) return sign(*au, *bu);
  if (ai != nullptr && bu != nullptr) return *ai < 0 ? -1 : sign(static_cast<std::uint64_t>(*ai), *bu);
  if (au != nullptr && bi != nullptr) return *bi < 0 ? 1 : sign(*au, static_cast<std::uint64_t>(*bi));
  if ((ai == nullptr && au == nullptr && ad == nullptr) || (bi == nullptr && bu == nullptr && bd == nullptr))
    return std::nullopt;
  const auto wide = [](const std::int64_t* i, const std::uint64_t* u, const double* d) {
    return i != nullptr ? static_cast<double>(*i) : u != nullptr ? static_cast<double>(*u) : *d;
  };
  const double x = wide(ai, au, ad);
  const double y = wide(bi, bu, bd);
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return sign(x, y);
}

std::optional<int> semver_order(const Semver& a, const Semver& b) {
  if (a.major != b.major) return sign(a.major, b.major);
  if (a.minor != b.minor) return sign(a.minor, b.minor);
  if (a.patch != b.patch) return sign(a.patch, b.patch);
  if (a.before.empty() != b.before.empty()) return a.before.empty() ? 1 : -1;
  for (std::size_t i = 0; i < std::min(a.before.size(), b.before.size()); ++i) {
    const std::string& x = a.before[i];
    const std::string& y = b.before[i];
    const auto numeric = [](const std::string& t) {
      return std::ranges::all_of(t, [](char c) { return c >= '0' && c <= '9'; });
    };
    if (x == y) continue;
    if (numeric(x) != numeric(y)) return numeric(x) ? -1 : 1;
    if (numeric(x) && x.size() != y.size()) return sign(x.size(), y.size());
    return x < y ? -1 : 1;
  }
  return sign(a.before.size(), b.before.size());
}

}  // namespace

std::size_t runes(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool Value::is_list() const { return as<List>() != nullptr || json_list(*this) != nullptr; }
bool Value::is_map() const { return as<Map>() != nullptr || json_map(*this) != nullptr; }

std::size_t Value::size() const {
  if (const List* list = as<List>()) return (*list)->size();
  if (const Map* map = as<Map>()) return (*map)->size();
  if (const json::Array* list = json_list(*this)) return list->size();
  if (const json::Object* map = json_map(*this)) return map->size();
  if (const std::string* text = as<std::string>()) return runes(*text);
  if (const Bytes* bytes = as<Bytes>()) return bytes->data.size();
  return 0;
}

Value Value::at(std::size_t index) const {
  if (const List* list = as<List>()) return (**list)[index];
  const JsonRef* ref = as<JsonRef>();
  return from_json((*ref->value->as_array())[index], ref->schema != nullptr ? ref->schema->items : nullptr);
}

const Schema* Value::list_schema() const {
  const JsonRef* ref = as<JsonRef>();
  return ref != nullptr ? ref->schema : nullptr;
}

bool Value::find(const Value& key, Value& out) const {
  if (const Map* map = as<Map>()) {
    for (const auto& [name, value] : **map) {
      if (!equal(name, key)) continue;
      out = value;
      return true;
    }
    return false;
  }
  const json::Object* object = json_map(*this);
  const std::string* name = key.as<std::string>();
  const json::Value* found = object != nullptr && name != nullptr ? object->find(*name) : nullptr;
  if (found == nullptr) return false;
  const Schema* schema = as<JsonRef>()->schema;
  out = from_json(*found, schema != nullptr ? schema->child(*name) : nullptr);
  return true;
}

Value Value::key_at(std::size_t index) const {
  if (const Map* map = as<Map>()) return (**map)[index].first;
  return (json_map(*this)->begin() + static_cast<std::ptrdiff_t>(index))->first;
}

Value Value::value_at(std::size_t index) const {
  if (const Map* map = as<Map>()) return (**map)[index].second;
  const auto& [name, value] = *(json_map(*this)->begin() + static_cast<std::ptrdiff_t>(index));
  const Schema* schema = as<JsonRef>()->schema;
  return from_json(value, schema != nullptr ? schema->child(name) : nullptr);
}

Value from_json(const json::Value& value, const Schema* schema) {
  if (value.is_null()) return {};
  if (value.is_object() || value.is_array()) return JsonRef{&value, schema};
  if (const std::string* text = value.as_string()) return text_of(*text, schema);
  if (const bool* flag = value.as_bool()) return *flag;
  const bool real = schema != nullptr && schema->type == Schema::Type::Number;
  const bool whole = schema != nullptr && schema->type == Schema::Type::Integer;
  if (const std::int64_t* number = value.as_int()) {
    if (real) return static_cast<double>(*number);
    return *number;
  }
  const double number = value.number().value_or(0);
  if (whole && number == std::trunc(number) && std::abs(number) < 9.2e18) return static_cast<std::int64_t>(number);
  return number;
}

Value make_list(std::vector<Value> items) { return std::make_shared<const std::vector<Value>>(std::move(items)); }
Value make_error(std::string what) { return Error{std::move(what)}; }
Value make_optional(Value value) { return Optional{std::make_shared<const Value>(std::move(value))}; }
Value no_optional() { return Optional{}; }

bool equal(const Value& a, const Value& b) {
  if (a.is_list() && b.is_list()) {
    const Schema* schema = a.list_schema() != nullptr ? a.list_schema() : b.list_schema();
    return same_items(a, b, schema);
  }
  if (a.is_map() && b.is_map()) return same_entries(a, b);
  if (a.is_null() || b.is_null()) return a.is_null() && b.is_null();
  if (const auto* x = a.as<TypeName>())
    if (const auto* y = b.as<TypeName>()) return x->name == y->name;
  if (const auto* x = a.as<Optional>()) {
    const auto* y = b.as<Optional>();
    if (y == nullptr) return false;
    if (x->value == nullptr || y->value == nullptr) return x->value == y->value;
    return equal(*x->value, *y->value);
  }
  if (const auto* x = a.as<Ip>())
    if (const auto* y = b.as<Ip>()) return *x == *y;
  if (const auto* x = a.as<Cidr>())
    if (const auto* y = b.as<Cidr>()) return *x == *y;
  if (const auto* x = a.as<std::shared_ptr<const Url>>())
    if (const auto* y = b.as<std::shared_ptr<const Url>>()) return **x == **y;
  return order(a, b) == 0;
}

std::optional<int> order(const Value& a, const Value& b) {
  if (const auto numbers = number_order(a, b)) return numbers;
  const auto both = [&]<class T>(const T*) -> std::optional<int> {
    const T* x = a.as<T>();
    const T* y = b.as<T>();
    if (x == nullptr || y == nullptr) return std::nullopt;
    return sign(*x, *y);
  };
  if (const auto found = both(static_cast<const std::string*>(nullptr))) return found;
  if (const auto found = both(static_cast<const bool*>(nullptr))) return found;
  if (const auto found = both(static_cast<const Span*>(nullptr))) return found;
  if (const auto found = both(static_cast<const Instant*>(nullptr))) return found;
  if (const auto found = both(static_cast<const api::Quantity*>(nullptr))) return found;
  if (const auto* x = a.as<Bytes>())
    if (const auto* y = b.as<Bytes>()) return sign(x->data, y->data);
  if (const auto* x = a.as<std::shared_ptr<const Semver>>())
    if (const auto* y = b.as<std::shared_ptr<const Semver>>()) return semver_order(**x, **y);
  return std::nullopt;
}

std::string_view type_name(const Value& value) {
  if (value.is_list()) return "list";
  if (value.is_map()) return "map";
  if (value.is_null()) return "null_type";
  if (value.as<bool>() != nullptr) return "bool";
  if (value.as<std::int64_t>() != nullptr) return "int";
  if (value.as<std::uint64_t>() != nullptr) return "uint";
  if (value.as<double>() != nullptr) return "double";
  if (value.as<std::string>() != nullptr) return "string";
  if (value.as<Bytes>() != nullptr) return "bytes";
  if (value.as<Span>() != nullptr) return "google.protobuf.Duration";
  if (value.as<Instant>() != nullptr) return "google.protobuf.Timestamp";
  if (value.as<api::Quantity>() != nullptr) return "kubernetes.Quantity";
  if (value.as<Ip>() != nullptr) return "net.IP";
  if (value.as<Cidr>() != nullptr) return "net.CIDR";
  if (value.as<std::shared_ptr<const Url>>() != nullptr) return "kubernetes.URL";
  if (value.as<std::shared_ptr<const Semver>>() != nullptr) return "kubernetes.Semver";
  if (value.as<Optional>() != nullptr) return "optional_type";
  if (value.as<TypeName>() != nullptr) return "type";
  return "error";
}

std::string printed(const Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  if (const auto* flag = value.as<bool>()) return *flag ? "true" : "false";
  if (const auto* number = value.as<std::int64_t>()) return fmt::format("{}", *number);
  if (const auto* number = value.as<std::uint64_t>()) return fmt::format("{}", *number);
  if (const auto* number = value.as<double>()) return go_float(*number);
  if (const auto* bytes = value.as<Bytes>()) return bytes->data;
  if (const auto* time = value.as<Instant>()) return rfc3339(*time);
  if (const auto* span = value.as<Span>()) {
    std::string seconds = fmt::format("{}", span->count() / 1'000'000'000);
    if (const auto rest = std::abs(span->count() % 1'000'000'000); rest != 0) {
      seconds = span->count() < 0 && seconds == "0" ? "-0" : seconds;
      std::string more = fmt::format("{:09}", rest);
      while (more.back() == '0') more.pop_back();
      seconds += "." + more;
    }
    return seconds + "s";
  }
  if (const auto* amount = value.as<api::Quantity>()) return amount->str();
  if (const auto* ip = value.as<Ip>()) return ip->str();
  if (const auto* cidr = value.as<Cidr>()) return cidr->str();
  if (const auto* type = value.as<TypeName>()) return type->name;
  if (const auto* error = value.as<Error>()) return error->what;
  if (value.is_null()) return "null";
  std::string out;
  if (value.is_list()) {
    for (std::size_t i = 0; i < value.size(); ++i) out += (i == 0 ? "" : ", ") + printed(value.at(i));
    return "[" + out + "]";
  }
  if (value.is_map()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      out += (i == 0 ? "" : ", ") + printed(value.key_at(i)) + ": " + printed(value.value_at(i));
    return "{" + out + "}";
  }
  return out;
}

}  // namespace kopper::plane::cel
