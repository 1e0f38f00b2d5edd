#include "kopper/client/api.h"

namespace kopper::client {

template <>
std::expected<json::Value, DecodeError> from_item<json::Value>(std::string_view json, const Resource& resource) {
  auto object = json::parse(json);
  if (!object || !object->is_object() || object->as_object()->contains("kind")) return object;
  // In front, where people look for them.
  json::Object whole{{"apiVersion", resource.api_version()}, {"kind", resource.kind}};
  for (auto& [name, value] : *object->as_object()) whole[name] = std::move(value);
  return json::Value(std::move(whole));
}

std::string detail::appliable(std::string json) {
  if (!json.contains("\"managedFields\"")) return json;
  auto object = json::parse(json);
  if (!object) throw_error(object.error(), "the object to apply");
  if (auto* metadata = (*object)["metadata"].as_object(); metadata != nullptr) metadata->erase("managedFields");
  return json::dump(*object);
}

Api<json::Value> Client::of(Resource resource) const { return Api<json::Value>(RawApi(*this, std::move(resource))); }

Api<PartialObject> Client::metadata_of(Resource resource) const {
  return Api<PartialObject>(RawApi(*this, std::move(resource), View::Metadata));
}

}  // namespace kopper::client
