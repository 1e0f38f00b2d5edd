#include "kopper/plane/crd/prune.h"

#include <algorithm>

#include "kopper/plane/problems.h"

namespace kopper::plane {
namespace {

// Walks a value along its schema, and tells of every member that nothing names; drops it when `Dropping`.
template <bool Dropping>
class Walk {
 public:
  using Value = std::conditional_t<Dropping, json::Value, const json::Value>;

  std::vector<std::string> unknown;

  // `schema` null: nothing inside is known.
  void value(Value& at, const Schema* schema, const std::string& path) {
    if (auto* object = at.as_object()) {
      members(*object, schema, path);
    } else if (auto* list = at.as_array()) {
      items(*list, schema, path);
    }
  }

 private:
  template <class Object>
  void members(Object& object, const Schema* schema, const std::string& path) {
    const bool keep = schema != nullptr && schema->preserve_unknown;
    std::vector<std::string> gone;
    for (auto& [name, member] : object) {
      const Schema* inner = schema != nullptr ? schema->child(name) : nullptr;
      if (inner != nullptr) {
        value(member, inner, at_path(path, name));
      } else if (!keep) {
        unknown.push_back(at_path(path, name));
        if constexpr (Dropping) gone.push_back(name);
      }
    }
    if constexpr (Dropping)
      for (const std::string& name : gone) object.erase(name);
  }

  template <class List>
  void items(List& list, const Schema* schema, const std::string& path) {
    if (schema != nullptr && schema->items == nullptr && schema->preserve_unknown) return;
    for (std::size_t i = 0; i < list.size(); ++i)
      value(list[i], schema != nullptr ? schema->items : nullptr, Dropping ? path : at(path, i));
  }

  static std::string at_path(const std::string& path, const std::string& name) {
    return Dropping ? std::string() : at(path, name);
  }
};

}  // namespace

void prune(json::Value& object, const Schema& schema) { Walk<true>().value(object, &schema, ""); }

std::vector<std::string> unknown_fields(const json::Value& object, const Schema& schema) {
  Walk<false> walk;
  walk.value(object, &schema, "");
  const auto place = [](const std::string& path) { return std::pair(!path.starts_with("metadata."), path); };
  std::ranges::sort(walk.unknown, {}, place);
  return std::move(walk.unknown);
}

}  // namespace kopper::plane
