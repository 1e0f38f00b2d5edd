#include "kopper/plane/custom.h"

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

}  // namespace

CustomKind::CustomKind(json::Value from, std::string version, BuiltinSchemas& builtins)
    : schema(version_of(from, version)["schema"]["openAPIV3Schema"], builtins), columns(columns_of(from, version)) {
  const json::Value& own = version_of(from, version);
  scale = own["subresources"]["scale"];
  has_status = own["subresources"]["status"].is_object();
  if (const json::Array* fields = own["selectableFields"].as_array())
    for (const json::Value& field : *fields) selectable.emplace_back(field.text("jsonPath"));
  for (const json::Value& one : *from["spec"]["versions"].as_array())
    if (is_true(one["storage"])) storage_version = one.text("name");
  definition = std::move(from);
}

std::vector<ResourceRef> resources_of(const json::Value& definition, BuiltinSchemas& builtins) {
  std::vector<ResourceRef> out;
  const json::Value& spec = definition["spec"];
  const json::Value& names = spec["names"];
  for (const json::Value& version : *spec["versions"].as_array()) {
    if (!is_true(version["served"])) continue;
    auto custom = std::make_shared<CustomKind>(definition, std::string(version.text("name")), builtins);
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
    if (is_true(version["deprecated"])) {
      resource->deprecation = version.text("deprecationWarning");
      if (resource->deprecation.empty())
        resource->deprecation = resource->api_version() + " " + resource->kind + " is deprecated";
    }
    resource->custom = std::move(custom);
    out.push_back(std::move(resource));
  }
  return out;
}

}  // namespace kopper::plane
