#include "kopper/plane/render.h"

#include <fmt/format.h>

#include "kopper/json/yaml.h"
#include "kopper/plane/behaviour.h"

namespace kopper::plane {
namespace {

std::string type_prefix(const Resource& resource) {
  return fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", resource.kind, resource.api_version());
}

}  // namespace

void put_type_first(json::Value& object, const Resource& resource) {
  json::Object& from = *object.as_object();
  if (from.size() >= 2 && from.begin()[0].first == "kind" && from.begin()[1].first == "apiVersion") {
    from.begin()[0].second = resource.kind;
    from.begin()[1].second = resource.api_version();
    return;
  }
  std::vector<json::Object::Member> members;
  members.reserve(from.size() + 2);
  members.emplace_back("kind", resource.kind);
  members.emplace_back("apiVersion", resource.api_version());
  for (auto& [key, value] : from)
    if (key != "kind" && key != "apiVersion") members.emplace_back(key, std::move(value));
  from = json::Object(std::move(members));
}

std::string formatted(std::string json, const Output& output) {
  if (!output.yaml && !output.pretty) return json;
  auto value = json::parse(json);
  if (!value) return json;
  return output.yaml ? json::to_yaml(*value) : json::dump_pretty(*value);
}

Renderer::Renderer(ResourceRef resource, Output output, Converter& converter)
    : resource_(std::move(resource)), output_(output), converter_(converter) {}

json::Value Renderer::metadata_of(const json::Value& value) const {
  return json::Object{
      {"kind", "PartialObjectMetadata"}, {"apiVersion", output_.api_version()}, {"metadata", value["metadata"]}};
}

// What the real server calls it in its errors: "*core.PodList".
std::string Renderer::go_type(bool list) const {
  if (resource_->custom) return list ? "*unstructured.UnstructuredList" : "*unstructured.Unstructured";
  const std::string_view group = resource_->table() == "events" ? "" : std::string_view(resource_->group);
  return fmt::format("*{}.{}", group.empty() ? "core" : group.substr(0, group.find('.')),
                     list ? resource_->list_kind : resource_->kind);
}

bool Renderer::as_stored(const Stored& stored) const {
  return output_.form == Output::Form::Whole && !converter_.needed(*resource_, stored);
}

Task<json::Value> Renderer::value(StoredRef stored) const {
  json::Value out = stored->value();
  if (!converter_.needed(*resource_, *stored)) co_return out;
  std::vector<json::Value> one;
  one.push_back(std::move(out));
  std::vector<json::Value> converted = co_await converter_.to_version(resource_, std::move(one));
  put_type_first(converted.front(), *resource_);
  co_return std::move(converted.front());
}

json::Value Renderer::columns() const {
  json::Array out;
  for (const auto& [name, type, format, description, priority] : table_columns(*resource_))
    out.emplace_back(json::Object{
        {"name", name}, {"type", type}, {"format", format}, {"description", description}, {"priority", priority}});
  return out;
}

json::Value Renderer::row(const json::Value& value) const {
  json::Object out{{"cells", table_cells(*resource_, value)}};
  if (output_.include == Output::Include::Metadata) {
    out["object"] = metadata_of(value);
  } else if (output_.include == Output::Include::Object) {
    out["object"] = value;
  } else {
    out["object"] = nullptr;
  }
  return out;
}

json::Value Renderer::shaped(const json::Value& value) const {
  if (output_.form == Output::Form::Metadata) return metadata_of(value);
  if (output_.form == Output::Form::Whole) return value;
  json::Object out{{"kind", "Table"}, {"apiVersion", output_.api_version()}};
  out["metadata"] = json::Object{{"resourceVersion", value["metadata"]["resourceVersion"]}};
  out["columnDefinitions"] = columns();
  out["rows"] = json::Array{row(value)};
  return out;
}

Task<std::string> Renderer::object(StoredRef stored) const {
  if (as_stored(*stored)) {
    std::string out;
    out.reserve(stored->json.size() + 1);  // for the newline of answer()
    co_return out += stored->json;
  }
  const json::Value v = co_await value(std::move(stored));
  co_return object(v);
}

std::string Renderer::object(const json::Value& value) const {
  if (output_.form == Output::Form::Metadata && output_.as_list)
    throw not_acceptable(fmt::format(
        "you requested PartialObjectMetadataList, but the requested object is not a list ({})", go_type(false)));
  return output_.form == Output::Form::Whole ? json::dump(value) : json::dump(shaped(value));
}

Task<std::string> Renderer::item(StoredRef stored) const {
  if (as_stored(*stored)) {
    if (!resource_->custom) {
      const std::string prefix = type_prefix(*resource_);
      if (stored->json.starts_with(prefix)) co_return "{" + stored->json.substr(prefix.size());
    }
    co_return stored->json;
  }
  const json::Value v = co_await value(std::move(stored));
  if (output_.form == Output::Form::Table) co_return json::dump(row(v));
  if (output_.form == Output::Form::Metadata) co_return json::dump(metadata_of(v));
  std::string text = json::dump(v);
  const std::string prefix = type_prefix(*resource_);
  if (!resource_->custom && text.starts_with(prefix)) text = "{" + text.substr(prefix.size());
  co_return text;
}

Task<std::string> Renderer::event_object(StoredRef stored, bool with_columns) const {
  if (as_stored(*stored)) co_return stored->json;
  const json::Value v = co_await value(std::move(stored));
  json::Value out = shaped(v);
  if (output_.form == Output::Form::Table && !with_columns) out["columnDefinitions"] = nullptr;
  co_return json::dump(out);
}

std::string Renderer::list_head(const json::Object& metadata) const {
  if (output_.form == Output::Form::Table)
    return fmt::format(R"({{"kind":"Table","apiVersion":"{}","metadata":{},"columnDefinitions":{},"rows":[)",
                       output_.api_version(), json::dump(metadata), json::dump(columns()));
  const bool partial = output_.form == Output::Form::Metadata;
  if (partial && !output_.as_list)
    throw not_acceptable(
        fmt::format("you requested PartialObjectMetadata, but the requested object is a list ({})", go_type(true)));
  json::Object own = metadata;
  if (resource_->custom && !partial && !own.contains("continue")) own["continue"] = "";  // these always say
  return fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{},"items":[)",
                     partial ? "PartialObjectMetadataList" : resource_->list_kind,
                     partial ? output_.api_version() : resource_->api_version(), json::dump(own));
}

std::string Renderer::bookmark(const std::string& revision, bool initial_events_end) const {
  json::Object metadata{{"resourceVersion", revision}};
  if (initial_events_end) metadata["annotations"] = json::Object{{"k8s.io/initial-events-end", "true"}};
  if (output_.form == Output::Form::Table) {
    json::Object table{{"kind", "Table"},
                       {"apiVersion", output_.api_version()},
                       {"metadata", json::Object{{"resourceVersion", revision}}}};
    table["columnDefinitions"] = json::Array();
    const bool partial = output_.include == Output::Include::Metadata;
    json::Object object{{"kind", partial ? "PartialObjectMetadata" : resource_->kind},
                        {"apiVersion", partial ? output_.api_version() : resource_->api_version()},
                        {"metadata", std::move(metadata)}};
    table["rows"] = json::Array{json::Object{{"cells", json::Array()}, {"object", std::move(object)}}};
    return json::dump(table);
  }
  const bool partial = output_.form == Output::Form::Metadata;
  return json::dump(json::Object{{"kind", partial ? "PartialObjectMetadata" : resource_->kind},
                                 {"apiVersion", partial ? output_.api_version() : resource_->api_version()},
                                 {"metadata", std::move(metadata)}});
}

}  // namespace kopper::plane
