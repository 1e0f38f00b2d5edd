#include "kopper/meta/crd.h"

#include "kopper/meta/base64.h"
#include "kopper/meta/detail/walk.h"
#include "kopper/meta/schema.h"

namespace kopper::meta {
namespace {

using json::Array;
using json::Object;

Array strings(const ConstList<std::string_view, 6>& list) { return {list.begin(), list.end()}; }

Object names(const Kind& kind) {
  Object out{{"plural", kind.plural_name()},
             {"singular", kind.singular_name()},
             {"kind", kind.kind},
             {"listKind", std::string(kind.kind) + "List"}};
  if (!kind.short_names.empty()) out["shortNames"] = strings(kind.short_names);
  if (!kind.categories.empty()) out["categories"] = strings(kind.categories);
  return out;
}

Array columns(const Kind& kind) {
  Array out;
  for (const Column& column : kind.columns) {
    Object one{{"name", column.name}, {"type", column.type}};
    if (!column.format.empty()) one["format"] = column.format;
    if (!column.description.empty()) one["description"] = column.description;
    if (column.priority != 0) one["priority"] = column.priority;
    one["jsonPath"] = column.path;
    out.emplace_back(std::move(one));
  }
  return out;
}

Object subresources(const Type& type) {
  Object out;
  if (detail::find_field(type, "status") != nullptr) out["status"] = Object();
  const Scale& scale = type.kind->scale;
  if (!scale.spec_replicas.empty()) {
    Object one{{"specReplicasPath", scale.spec_replicas}, {"statusReplicasPath", scale.status_replicas}};
    if (!scale.selector.empty()) one["labelSelectorPath"] = scale.selector;
    out["scale"] = std::move(one);
  }
  return out;
}

Object version(const Type& type) {
  const Kind& kind = *type.kind;
  Object out{{"name", kind.version}, {"served", kind.served}, {"storage", kind.storage}};
  if (!kind.deprecated.empty()) {
    out["deprecated"] = true;
    out["deprecationWarning"] = kind.deprecated;
  }
  if (Object all = subresources(type); !all.empty()) out["subresources"] = std::move(all);
  if (!kind.columns.empty()) out["additionalPrinterColumns"] = columns(kind);
  out["schema"] = Object{{"openAPIV3Schema", schema(type)}};
  return out;
}

Object conversion(const ConversionWebhook& hook) {
  Object config;
  if (!hook.url.empty())
    config["url"] = hook.url;
  else
    config["service"] = Object{
        {"namespace", hook.service_namespace}, {"name", hook.service_name}, {"path", hook.path}, {"port", hook.port}};
  if (!hook.ca_bundle.data.empty()) {
    std::string text;
    append_base64(text, hook.ca_bundle.data);
    config["caBundle"] = std::move(text);
  }
  return {{"strategy", "Webhook"},
          {"webhook", Object{{"clientConfig", std::move(config)}, {"conversionReviewVersions", Array{"v1"}}}}};
}

}  // namespace

json::Value crd(std::span<const Type* const> versions, const CrdOptions& options) {
  const Kind& kind = *versions.front()->kind;
  Array all;
  for (const Type* type : versions) all.emplace_back(version(*type));
  Object spec{{"group", kind.group},
              {"names", names(kind)},
              {"scope", kind.scope == Scope::Cluster ? "Cluster" : "Namespaced"},
              {"versions", std::move(all)}};
  if (options.conversion) spec["conversion"] = conversion(*options.conversion);
  return Object{{"apiVersion", "apiextensions.k8s.io/v1"},
                {"kind", "CustomResourceDefinition"},
                {"metadata", Object{{"name", kind.resource_name()}}},
                {"spec", std::move(spec)}};
}

}  // namespace kopper::meta
