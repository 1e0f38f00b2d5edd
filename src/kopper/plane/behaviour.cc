#include "kopper/plane/behaviour.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/api/validation.h"
#include "kopper/plane/builtin/autoscaler_versions.h"
#include "kopper/plane/builtin/conform.h"
#include "kopper/plane/builtin/defaults.h"
#include "kopper/plane/builtin/fields.h"
#include "kopper/plane/builtin/pod_warnings.h"
#include "kopper/plane/builtin/strategy.h"
#include "kopper/plane/builtin/validate.h"
#include "kopper/plane/crd/check_crd.h"
#include "kopper/plane/crd/crd_status.h"
#include "kopper/plane/crd/defaults.h"
#include "kopper/plane/crd/go_text.h"
#include "kopper/plane/crd/json_path.h"
#include "kopper/plane/crd/prune.h"
#include "kopper/plane/crd/validate.h"
#include "kopper/plane/custom.h"
#include "kopper/plane/table/table.h"

namespace kopper::plane {
namespace {

builtin::KindName name_of(const Resource& resource) {
  return {.group = resource.group, .version = resource.version, .kind = resource.kind};
}

bool is_definition(const Resource& resource) { return resource.kind == "CustomResourceDefinition" && !resource.custom; }

std::int64_t generation_of(const json::Value& object) {
  const std::int64_t* generation = object["metadata"]["generation"].as_int();
  return generation != nullptr ? *generation : 1;
}

// All but metadata, and the status where it has a life of its own.
bool same_content(const json::Value& a, const json::Value& b, bool without_status) {
  const auto counts = [&](const std::string& key) { return key != "metadata" && (!without_status || key != "status"); };
  const auto has_all = [&](const json::Value& from, const json::Value& in) {
    return std::ranges::all_of(*from.as_object(), [&](const auto& member) {
      return !counts(member.first) || in[member.first] == member.second;
    });
  };
  return has_all(a, b) && has_all(b, a);
}

// Objects inside an object have metadata too.
void decode_embedded(const Resource& resource, json::Value& value, const Schema& schema, const std::string& path) {
  if (json::Array* list = value.as_array()) {
    if (schema.items == nullptr) return;
    for (std::size_t i = 0; i < list->size(); ++i)
      decode_embedded(resource, (*list)[i], *schema.items, fmt::format("{}[{}]", path, i));
    return;
  }
  json::Object* members = value.as_object();
  if (members == nullptr) return;
  if (json::Value* metadata = members->find("metadata"); schema.embedded && !path.empty() && metadata != nullptr) {
    const json::Value sent = *metadata;
    const builtin::Findings found = builtin::conform(*metadata, *schema.child("metadata"));
    if (!found.error.empty())
      throw builtin::undecodable(resource.version, resource.kind,
                                 fmt::format("{}.metadata: Invalid value: {}: {}", path, go_json(sent), found.error));
  }
  for (auto& [key, member] : *members)
    if (const Schema* child = schema.child(key); child != nullptr && (!path.empty() || key != "metadata"))
      decode_embedded(resource, member, *child, path.empty() ? key : path + "." + key);
}

void append(Problems& problems, const Problems& more) {
  for (const Cause& cause : more.causes()) problems.add(cause.field, cause.reason, cause.message);
}

void take_status(json::Value& object, const json::Value& from) {
  if (from["status"].is_null()) {
    object.as_object()->erase("status");
  } else {
    object["status"] = from["status"];
  }
}

}  // namespace

void decode_object(const Resource& resource, json::Value& object, std::vector<std::string>& unknown) {
  if (const CustomKind* custom = custom_kind(resource)) {
    for (const std::string& path : unknown_fields(object, custom->schema.root()))
      unknown.push_back(fmt::format("unknown field \"{}\"", path));
    prune(object, custom->schema.root());
    json::Value& metadata = object["metadata"];
    if (metadata.is_null()) metadata = json::Object();
    const builtin::Findings found = builtin::conform(metadata, *custom->schema.root().child("metadata"));
    if (!found.error.empty()) throw builtin::undecodable(resource.version, resource.kind, found.error);
    decode_embedded(resource, object, custom->schema.root(), "");
    return;
  }
  builtin::Findings found = builtin::conform(object, *resource.schema);
  if (!found.error.empty()) throw builtin::undecodable(resource.version, resource.kind, found.error);
  unknown = std::move(found.strict);
}

void set_defaults(const Resource& resource, json::Value& object) {
  if (const CustomKind* custom = custom_kind(resource)) return set_defaults(object, custom->schema.root());
  builtin::set_defaults(resource.group, resource.version, resource.kind, object);
  if (is_definition(resource)) default_crd(object);
}

void prepare_create(const Resource& resource, json::Value& object) {
  if (const CustomKind* custom = custom_kind(resource)) {
    object["metadata"]["generation"] = 1;
    if (custom->has_status) object.as_object()->erase("status");
    return;
  }
  builtin::admit_create(name_of(resource), object);
  builtin::prepare_create(name_of(resource), object);
  if (!is_definition(resource)) return;
  object.as_object()->erase("status");
  object["status"] = json::Object{{"storedVersions", stored_versions(object)}};
}

void prepare_update(const Resource& resource, json::Value& object, const json::Value& old) {
  if (const CustomKind* custom = custom_kind(resource)) {
    if (custom->has_status) take_status(object, old);
    object["metadata"]["generation"] = generation_of(old) + (same_content(object, old, custom->has_status) ? 0 : 1);
    return;
  }
  builtin::prepare_update(name_of(resource), object, old);
  if (is_definition(resource)) object["status"]["storedVersions"] = stored_versions(object);
}

void prepare_status_update(const Resource& resource, json::Value& object, const json::Value& old) {
  if (resource.custom) {
    json::Value next = old;
    take_status(next, object);
    const json::Value& managed = object["metadata"]["managedFields"];
    if (!managed.is_null()) next["metadata"]["managedFields"] = managed;
    object = std::move(next);
    return;
  }
  builtin::prepare_status_update(name_of(resource), object, old);
}

void validate(Core& core, const Resource& resource, const json::Value& object, Check how, Problems& problems) {
  if (const CustomKind* custom = custom_kind(resource)) {
    builtin::validate_metadata(object, how.old, builtin::NameRule::Subdomain, problems);
    CustomCheck check{
        .old = how.old, .status_only = how.status_only, .scale = custom->scale.is_object() ? &custom->scale : nullptr};
    append(problems, check_custom_resource(object, custom->schema, check));
    return;
  }

  builtin::validate(resource.group, resource.version, resource.kind, object, how.old, problems, how.subresource);
  if (!is_definition(resource) || how.status_only) return;
  append(problems, check_crd(object, core.catalog.schemas(), how.old));
}

std::vector<std::string> warnings_of(const Resource& resource, const json::Value& object, const json::Value* old) {
  if (resource.custom) return {};
  constexpr std::string_view kClass = "kubernetes.io/ingress.class";
  if (resource.kind == "Ingress" && old == nullptr && !object["metadata"]["annotations"][kClass].is_null())
    return {fmt::format("annotation \"{}\" is deprecated, please use 'spec.ingressClassName' instead", kClass)};
  return builtin::pod_warnings(name_of(resource), object, old);
}

std::vector<TableColumn> table_columns(const Resource& resource) {
  std::vector<TableColumn> out;
  if (const CustomKind* custom = custom_kind(resource)) {
    out.push_back({"Name", "string", "name", "", 0});
    for (const CustomColumn& column : custom->columns)
      out.push_back({column.name, column.type, column.format, column.description, column.priority});
    return out;
  }
  for (const table::Column& column : table::columns(resource.group, resource.plural))
    out.push_back({column.name, column.type, column.format, "", column.priority});
  return out;
}

json::Array table_cells(const Resource& resource, const json::Value& object) {
  const auto now = std::chrono::time_point_cast<std::chrono::system_clock::duration>(rt::Loop::current().wall_now());
  if (const CustomKind* custom = custom_kind(resource)) {
    json::Array out{object["metadata"]["name"]};
    for (const CustomColumn& column : custom->columns) {
      json::Value cell = cell_of(column, object);
      out.push_back(column.type == "date" && cell.is_string() ? json::Value(table::age(cell, now)) : std::move(cell));
    }
    return out;
  }
  const bool old_autoscaler = resource.group == "autoscaling" && resource.version == "v1";
  return table::cells(resource.group, resource.plural, old_autoscaler ? builtin::autoscaler_to_v2(object) : object,
                      now);
}

std::string selectable_field(const Resource& resource, std::string_view path, const json::Value& object) {
  if (path == "metadata.name") return std::string(object["metadata"].text("name"));
  if (path == "metadata.namespace") return std::string(object["metadata"].text("namespace"));
  if (const CustomKind* custom = custom_kind(resource)) {
    for (const std::string& known : custom->selectable) {
      if (known.substr(1) != path) continue;
      const auto parsed = JsonPath::parse(known);
      const json::Value* value = parsed ? parsed->first(object) : nullptr;
      if (value == nullptr || value->is_null()) return "";
      return value->is_string() ? *value->as_string() : json::dump(*value);
    }
    throw bad_request(fmt::format("field label not supported: {}", path));
  }
  if (const auto value = builtin::field(resource.group, resource.kind, path, object)) return *value;
  throw bad_request(builtin::field_not_supported(resource.group, resource.kind, path));
}

}  // namespace kopper::plane
