#include "kopper/plane/behaviour.h"

#include "kopper/plane/builtin/conform.h"
#include "kopper/plane/builtin/defaults.h"
#include "kopper/plane/builtin/fields.h"
#include "kopper/plane/builtin/strategy.h"

namespace kopper::plane {
namespace {

builtin::KindName name_of(const Resource& resource) {
  return {.group = resource.group, .version = resource.version, .kind = resource.kind};
}

}  // namespace

void decode_object(const Resource& resource, json::Value& object, std::vector<std::string>& unknown) {
  if (resource.custom) return;
  builtin::Findings found = builtin::conform(object, *resource.schema);
  if (!found.error.empty()) throw builtin::undecodable(resource.version, resource.kind, found.error);
  unknown = std::move(found.strict);
}

void set_defaults(const Resource& resource, json::Value& object) {
  if (resource.custom) return;
  builtin::set_defaults(resource.group, resource.version, resource.kind, object);
}

void prepare_create(const Resource& resource, json::Value& object) {
  if (resource.custom) return;
  builtin::admit_create(name_of(resource), object);
  builtin::prepare_create(name_of(resource), object);
}

void prepare_update(const Resource& resource, json::Value& object, const json::Value& old) {
  if (resource.custom) return;
  builtin::prepare_update(name_of(resource), object, old);
}

void prepare_status_update(const Resource& resource, json::Value& object, const json::Value& old) {
  if (resource.custom) return;
  builtin::prepare_status_update(name_of(resource), object, old);
}

void validate(const Resource&, const json::Value&, const json::Value*, Problems&) {}

std::vector<TableColumn> table_columns(const Resource&) {
  return {{"Name", "string", "name", "", 0}, {"Age", "string", "", "", 0}};
}

json::Array table_cells(const Resource&, const json::Value& object) {
  return {object["metadata"]["name"], object["metadata"]["creationTimestamp"]};
}

std::string selectable_field(const Resource& resource, std::string_view path, const json::Value& object) {
  if (path == "metadata.name") return std::string(object["metadata"].text("name"));
  if (path == "metadata.namespace") return std::string(object["metadata"].text("namespace"));
  if (!resource.custom)
    if (const auto value = builtin::field(resource.group, resource.kind, path, object)) return *value;
  throw bad_request(builtin::field_not_supported(resource.group, resource.kind, path));
}

}  // namespace kopper::plane
