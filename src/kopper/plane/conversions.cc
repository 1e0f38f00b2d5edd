#include "kopper/plane/conversions.h"

#include <array>

#include <fmt/format.h>

#include "kopper/plane/builtin/autoscaler_versions.h"
#include "kopper/plane/crd/convert.h"
#include "kopper/plane/crd/defaults.h"
#include "kopper/plane/crd/prune.h"
#include "kopper/plane/custom.h"

namespace kopper::plane {
namespace {

constexpr std::string_view kNewEvents = "events.k8s.io/v1";

// core/v1, events.k8s.io/v1
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kEventMembers{
    {{"involvedObject", "regarding"},
     {"message", "note"},
     {"source", "deprecatedSource"},
     {"firstTimestamp", "deprecatedFirstTimestamp"},
     {"lastTimestamp", "deprecatedLastTimestamp"},
     {"count", "deprecatedCount"},
     {"reportingComponent", "reportingController"}}};

json::Value renamed(const json::Value& event, std::string_view api_version) {
  const bool to_new = api_version == kNewEvents;
  json::Object out;
  for (const auto& [key, value] : *event.as_object()) {
    std::string_view name = key;
    for (const auto& [old_name, new_name] : kEventMembers)
      if (key == (to_new ? old_name : new_name)) name = to_new ? new_name : old_name;
    // The new kind leaves them out when they are empty, the old one does not.
    if (to_new && name.starts_with("reporting") && value == json::Value("")) continue;
    out[name] = value;
  }
  out["apiVersion"] = api_version;
  return out;
}

bool is_event(const Resource& resource) { return resource.table() == "events"; }

bool is_autoscaler(const Resource& resource) {
  return resource.group == "autoscaling" && resource.kind == "HorizontalPodAutoscaler";
}

// Objects begin with their kind and apiVersion: put_type_first().
bool stored_as(const Stored& object, const Resource& resource) {
  return object.json.starts_with(
      fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", resource.kind, resource.api_version()));
}

// As the schema of its version has it now, whatever it was when the object was written.
void refresh(const CustomKind& kind, json::Value& object) {
  const Schema* schema = kind.schema_of(object.text("apiVersion"));
  if (schema == nullptr) return;
  prune(object, *schema);
  set_defaults(object, *schema);
}

}  // namespace

bool Conversions::needed(const Resource& resource, const Stored& object) const {
  if (const CustomKind* kind = custom_kind(resource))
    return object.revision <= kind->since || !stored_as(object, resource);
  return (is_event(resource) || is_autoscaler(resource)) && !stored_as(object, resource);
}

Task<std::vector<json::Value>> Conversions::custom(json::Value definition, std::string api_version,
                                                   std::vector<json::Value> objects) {
  if (!webhook_conversion_of(definition)) {
    for (json::Value& object : objects) convert_by_name(object, api_version);
    co_return objects;
  }
  std::vector<json::Value> sent;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].text("apiVersion") == api_version) continue;
    sent.push_back(objects[i]);
    places.push_back(i);
  }
  if (sent.empty()) co_return objects;
  if (webhook_ == nullptr) throw internal("Internal error occurred: this server calls no conversion webhooks");
  std::vector<json::Value> back =
      co_await webhook_->convert(std::move(definition), std::move(api_version), std::move(sent));
  for (std::size_t i = 0; i < places.size(); ++i) objects[places[i]] = std::move(back[i]);
  co_return objects;
}

Task<std::vector<json::Value>> Conversions::to_version(ResourceRef resource, std::vector<json::Value> objects) {
  const std::string version = resource->api_version();
  if (is_event(*resource)) {
    for (json::Value& object : objects)
      if (object.text("apiVersion") != version) object = renamed(object, version);
    co_return objects;
  }
  if (is_autoscaler(*resource)) {
    for (json::Value& object : objects)
      if (object.text("apiVersion") != version)
        object = resource->version == "v1" ? builtin::autoscaler_to_v1(object) : builtin::autoscaler_to_v2(object);
    co_return objects;
  }
  const CustomKind& kind = *custom_kind(*resource);
  for (json::Value& object : objects) refresh(kind, object);
  json::Value definition = kind.definition;
  std::vector<json::Value> out = co_await custom(std::move(definition), version, std::move(objects));
  for (json::Value& object : out) prune(object, kind.schema.root());
  co_return out;
}

bool Conversions::stores(const Resource& resource) const {
  if (is_event(resource)) return resource.group.empty();
  if (is_autoscaler(resource)) return resource.version != "v1";
  return !resource.custom || resource.version == resource.custom->storage_version;
}

Task<json::Value> Conversions::to_storage(ResourceRef resource, json::Value object) {
  if (stores(*resource)) co_return object;
  if (is_event(*resource)) {
    json::Value out = renamed(object, "v1");
    Resource core = *resource;
    core.group.clear();
    core.version = "v1";
    put_type_first(out, core);
    co_return out;
  }
  if (is_autoscaler(*resource)) co_return builtin::autoscaler_to_v2(object);
  std::vector<json::Value> one;
  one.push_back(std::move(object));
  json::Value definition = resource->custom->definition;
  std::string version = resource->group + "/" + resource->custom->storage_version;
  std::vector<json::Value> out = co_await custom(std::move(definition), std::move(version), std::move(one));
  refresh(*custom_kind(*resource), out.front());
  Resource stored = *resource;
  stored.version = resource->custom->storage_version;
  put_type_first(out.front(), stored);
  co_return std::move(out.front());
}

}  // namespace kopper::plane
