#include "kopper/plane/apply/detail/typed.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace kopper::plane::detail {
namespace {

const json::Value kNull;
const json::Value kEmptyObject = json::Object();
const json::Value kEmptyText = "";
const json::Value kZero = 0;
const json::Value kFalse = false;

std::expected<PathElement, std::string> key_of(const Schema& list, const json::Value& item) {
  if (item.is_null()) return std::unexpected("associative list with keys may not have a null element");
  const json::Object* object = item.as_object();
  if (object == nullptr) return std::unexpected("associative list with keys may not have non-map elements");
  std::vector<json::Object::Member> key;
  key.reserve(list.keys.size());
  for (const std::string& name : list.keys) {
    if (const json::Value* value = object->find(name)) {
      key.emplace_back(name, *value);
    } else if (const Member* member = named_member(list.items, name); member != nullptr && member->default_value) {
      key.emplace_back(name, *member->default_value);
    } else if (const json::Value* blank = blank_of(list.items, member); blank != nullptr && !blank->is_null()) {
      key.emplace_back(name, *blank);  // a field that is always written: left out, it is empty
    }
  }
  if (key.empty()) {
    std::string names;
    for (const std::string& name : list.keys) names += fmt::format("{}\"{}\"", names.empty() ? "" : " ", name);
    return std::unexpected(fmt::format(
        "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for "
        "any key fields)",
        names));
  }
  return PathElement::key(json::Object(std::move(key)));
}

}  // namespace

const json::Value* blank_of(const Schema* schema, const Member* member) {
  if (member == nullptr || schema->builtin == nullptr) return nullptr;
  if (member->blank == Member::Blank::Null) return &kNull;
  if (member->blank != Member::Blank::Always) return nullptr;
  switch (member->schema->type) {
    case Schema::Type::Object: return &kEmptyObject;
    case Schema::Type::String: return &kEmptyText;
    case Schema::Type::Integer:
    case Schema::Type::Number: return &kZero;
    case Schema::Type::Boolean: return &kFalse;
    default: return &kNull;
  }
}

MemberIndex::MemberIndex(const json::Object* object) : object_(object) {
  constexpr std::size_t kSmall = 32;
  if (object == nullptr || object->size() <= kSmall) return;
  sorted_.reserve(object->size());
  for (const auto& member : *object) sorted_.push_back(&member);
  std::ranges::sort(sorted_, {}, [](const auto* member) -> const std::string& { return member->first; });
}

const json::Value* MemberIndex::find(std::string_view name) const {
  if (object_ == nullptr) return nullptr;
  if (sorted_.empty()) return object_->find(name);
  const auto at =
      std::ranges::lower_bound(sorted_, name, {}, [](const auto* member) { return std::string_view(member->first); });
  return at != sorted_.end() && (*at)->first == name ? &(*at)->second : nullptr;
}

std::expected<PathElement, std::string> element_of(const Schema& list, const json::Value& item) {
  if (list.list == Schema::List::Map) return key_of(list, item);
  if (item.is_object()) return std::unexpected("associative list without keys has an element that's a map type");
  if (item.is_array()) return std::unexpected("not supported: associative list with lists as elements");
  if (item.is_null()) return std::unexpected("associative list without keys has an element that's an explicit null");
  return PathElement::value(item);
}

Items::Items(const Schema& list, const json::Array& items) {
  elements_.reserve(items.size());
  items_.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto element = element_of(list, items[i]);
    if (!element) {
      if (error_.empty()) error_ = fmt::format("element {}: {}", i, element.error());
      continue;
    }
    elements_.push_back(std::move(*element));
    items_.push_back(&items[i]);
  }
  sorted_.resize(elements_.size());
  std::iota(sorted_.begin(), sorted_.end(), std::uint32_t{0});
  std::ranges::sort(sorted_, [this](std::uint32_t a, std::uint32_t b) {
    const auto order = elements_[a] <=> elements_[b];
    return order == 0 ? a < b : order < 0;
  });
}

std::span<const std::uint32_t> Items::find(const PathElement& element) const {
  const auto found = std::ranges::equal_range(sorted_, element, {},
                                              [this](std::uint32_t i) -> const PathElement& { return elements_[i]; });
  return {found.begin(), found.end()};
}

}  // namespace kopper::plane::detail
