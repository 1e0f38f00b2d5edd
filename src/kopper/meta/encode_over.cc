#include "kopper/meta/encode_over.h"

#include <unordered_map>

#include "kopper/meta/detail/walk.h"
#include "kopper/meta/encode.h"

namespace kopper::meta {
namespace {

void keep_unknown(const Type& type, const Field* field, const json::Value& old, json::Value& next);

bool holds_members(const Type& type) {
  const Shape shape = detail::unwrap(type).shape;
  return shape == Shape::Record || shape == Shape::List || shape == Shape::Map;
}

// Of these, empty and absent are the same to us.
bool is_plain(const Type& type) {
  return type.shape == Shape::String || type.shape == Shape::Bytes || type.shape == Shape::List ||
         type.shape == Shape::Map;
}
bool is_empty(const json::Value& value) {
  return (value.is_string() && value.as_string()->empty()) || (value.is_array() && value.as_array()->empty()) ||
         (value.is_object() && value.as_object()->empty());
}

void keep_in_record(const Type& type, const json::Object& old, json::Object& next) {
  std::vector<json::Object::Member> unknown;
  for (const auto& [key, value] : old) {
    const Field* field = detail::find_field(type, key);
    if (field == nullptr) {
      if (type.kind == nullptr || (key != "apiVersion" && key != "kind")) unknown.emplace_back(key, value);
    } else if (json::Value* known = next.find(key)) {
      keep_unknown(*field->type, field, value, *known);
    } else if (field->type->shape == Shape::Record) {
      // Left out because nothing in it is set, but there may be more in it than we know.
      json::Value inner = json::Object();
      keep_unknown(*field->type, field, value, inner);
      if (!inner.as_object()->empty()) next[key] = std::move(inner);
    } else if (is_plain(*field->type) && is_empty(value)) {
      next[key] = value;  // empty before and now: to the server that is not the same as absent
    }
  }
  if (unknown.empty()) return;
  std::vector<json::Object::Member> all(std::move_iterator(next.begin()), std::move_iterator(next.end()));
  all.insert(all.end(), std::move_iterator(unknown.begin()), std::move_iterator(unknown.end()));
  next = json::Object(std::move(all));
}

std::string keys_of(std::span<const std::string_view> keys, const json::Value& item) {
  std::string out;
  for (const std::string_view key : keys) out += json::dump(item[key]) + '\n';
  return out;
}

void keep_in_list(const Type& type, const Field* field, const json::Array& old, json::Array& next) {
  if (!holds_members(*type.element)) return;
  std::span<const std::string_view> keys;
  if (field != nullptr) keys = field->map_keys;
  if (field != nullptr && keys.empty() && !field->patch_merge_key.empty()) keys = {&field->patch_merge_key, 1};
  if (keys.empty()) {
    for (std::size_t i = 0; i < next.size() && i < old.size(); ++i)
      keep_unknown(*type.element, nullptr, old[i], next[i]);
    return;
  }
  std::unordered_map<std::string, const json::Value*> by_key;
  for (const json::Value& item : old) by_key.emplace(keys_of(keys, item), &item);
  for (json::Value& item : next)
    if (const auto found = by_key.find(keys_of(keys, item)); found != by_key.end())
      keep_unknown(*type.element, nullptr, *found->second, item);
}

void keep_unknown(const Type& wrapped, const Field* field, const json::Value& old, json::Value& next) {
  const Type& type = detail::unwrap(wrapped);
  if (type.shape == Shape::List && old.is_array() && next.is_array()) {
    keep_in_list(type, field, *old.as_array(), *next.as_array());
  } else if (type.shape == Shape::Record && old.is_object() && next.is_object()) {
    keep_in_record(type, *old.as_object(), *next.as_object());
  } else if (type.shape == Shape::Map && holds_members(*type.element) && old.is_object() && next.is_object()) {
    for (auto& [key, value] : *next.as_object())
      if (const json::Value* before = old.as_object()->find(key)) keep_unknown(*type.element, nullptr, *before, value);
  }
}

}  // namespace

std::expected<std::string, DecodeError> encode_over(std::string_view raw, const Type& type, const void* value) {
  const auto old = json::parse(raw);
  if (!old) return std::unexpected(old.error());
  json::Value next = value_of(type, value);
  keep_unknown(type, nullptr, *old, next);
  return json::dump(next);
}

}  // namespace kopper::meta
