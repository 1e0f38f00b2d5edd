#include "kopper/plane/custom.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/reading.h"

namespace kopper::plane {
namespace {

const json::Value& version_of(const json::Value& definition, std::string_view name) {
  static const json::Value nothing;
  const json::Array* versions = definition["spec"]["versions"].as_array();
  if (versions == nullptr) return nothing;
  for (const json::Value& version : *versions)
    if (version.text("name") == name) return version;
  return nothing;
}

std::vector<std::string> strings(const json::Value& list) {
  std::vector<std::string> out;
  if (const json::Array* all = list.as_array())
    for (const json::Value& one : *all)
      if (const std::string* text = one.as_string()) out.push_back(*text);
  return out;
}

// What who uses a deprecated version is told: the author's words, or which version to use instead.
std::string deprecation_of(const json::Value& definition, const json::Value& version) {
  if (!is_true(version["deprecated"])) return "";
  if (const std::string* own = version["deprecationWarning"].as_string()) return *own;
  const json::Value& spec = definition["spec"];
  const std::string_view kind = spec["names"].text("kind");
  const std::string_view group = spec.text("group");
  std::string_view best;
  for (const json::Value& other : items(spec["versions"])) {
    const std::string_view name = other.text("name");
    if (!is_true(other["served"]) || is_true(other["deprecated"]) || !version_before(name, version.text("name")))
      continue;
    if (best.empty() || version_before(name, best)) best = name;
  }
  std::string out = fmt::format("{}/{} {} is deprecated", group, version.text("name"), kind);
  if (!best.empty()) out += fmt::format("; use {}/{} {}", group, best, kind);
  return out;
}

}  // namespace

CustomKind::CustomKind(json::Value from, const std::string& version, std::shared_ptr<const CustomSchemas> all)
    : schemas(std::move(all)), schema(schemas->at(version)), columns(columns_of(from, version)) {
  const json::Value& own = version_of(from, version);
  scale = own["subresources"]["scale"];
  has_status = own["subresources"]["status"].is_object();
  if (const json::Array* fields = own["selectableFields"].as_array())
    for (const json::Value& field : *fields) selectable.emplace_back(field.text("jsonPath"));
  for (const json::Value& one : *from["spec"]["versions"].as_array())
    if (is_true(one["storage"])) storage_version = one.text("name");
  definition = std::move(from);
}

const Schema* CustomKind::schema_of(std::string_view api_version) const {
  const std::string_view group = definition["spec"].text("group");
  if (!api_version.starts_with(group) || !api_version.substr(group.size()).starts_with('/')) return nullptr;
  const auto at = schemas->find(api_version.substr(group.size() + 1));
  return at == schemas->end() ? nullptr : &at->second.root();
}

std::vector<ResourceRef> resources_of(const json::Value& definition, BuiltinSchemas& builtins, std::uint64_t since) {
  std::vector<ResourceRef> out;
  const json::Value& spec = definition["spec"];
  const json::Value& names = spec["names"];
  auto schemas = std::make_shared<CustomSchemas>();
  for (const json::Value& version : *spec["versions"].as_array())
    schemas->try_emplace(std::string(version.text("name")), version["schema"]["openAPIV3Schema"], builtins);
  for (const json::Value& version : *spec["versions"].as_array()) {
    if (!is_true(version["served"])) continue;
    auto custom = std::make_shared<CustomKind>(definition, std::string(version.text("name")), schemas);
    custom->since = since;
    auto resource = std::make_shared<Resource>();
    resource->group = spec.text("group");
    resource->version = version.text("name");
    resource->plural = names.text("plural");
    resource->singular = names.text("singular");
    resource->kind = names.text("kind");
    resource->list_kind = names.text("listKind");
    resource->namespaced = spec.text("scope") == "Namespaced";
    resource->short_names = strings(names["shortNames"]);
    resource->categories = strings(names["categories"]);
    resource->schema = &custom->schema.root();
    if (custom->has_status) resource->subresources.emplace_back("status");
    if (custom->scale.is_object()) {
      resource->subresources.emplace_back("scale");
      resource->scale = ScalePaths{std::string(custom->scale.text("specReplicasPath")),
                                   std::string(custom->scale.text("statusReplicasPath")),
                                   std::string(custom->scale.text("labelSelectorPath"))};
    }
    resource->deprecation = deprecation_of(definition, version);
    resource->custom = std::move(custom);
    out.push_back(std::move(resource));
  }
  return out;
}

}  // namespace kopper::plane
