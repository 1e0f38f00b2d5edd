#include "kopper/plane/body.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "kopper/json/lenient.h"
#include "kopper/json/yaml.h"
#include "kopper/plane/behaviour.h"
#include "kopper/plane/go_syntax.h"
#include "kopper/plane/parameters.h"
#include "kopper/plane/proto/decode.h"
#include "kopper/plane/render.h"

namespace kopper::plane {
namespace {

// The first bytes of what could not be read, for the error.
std::string summary(std::string_view body) {
  constexpr std::size_t kShown = 30;
  if (body.empty()) return "<empty>";
  const std::string_view shown = body.substr(0, kShown);
  std::string out;
  if (body.front() == '{') {
    out = shown;
  } else {
    for (const char c : shown) fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
  }
  return body.size() > kShown ? out + " ..." : out;
}

// `as`: the kind that the object must be of, null for options and the like.
json::Value read_protobuf(const Call& call, const Resource* as) {
  auto envelope = proto::open(call.request.body);
  if (!envelope) {
    const std::string& what = envelope.error().what;
    if (as == nullptr) throw bad_request(what);
    throw bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})", as->kind, what,
                                  summary(call.request.body)));
  }
  if (as != nullptr && envelope->kind.empty()) envelope->kind = as->kind;
  if (as != nullptr && envelope->api_version.empty()) envelope->api_version = as->api_version();
  auto value = proto::decode(*envelope);
  if (value) return std::move(*value);
  if (as == nullptr) throw bad_request(value.error().what);
  const std::string& version = envelope->api_version;
  throw bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", envelope->kind,
                                version.substr(version.find('/') + 1), as->kind, value.error().what));
}

// What could not be read, of which kind it should have been, and how it begins.
Refusal unrecognized(const Call& call, const Resource* as, std::string_view what) {
  if (as == nullptr) return bad_request(std::string(what));
  return bad_request(fmt::format("the object provided is unrecognized (must be of type {}): {} ({})", as->kind, what,
                                 summary(call.request.body)));
}

std::string_view go_kind(const json::Value& value) {
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  return value.as_bool() != nullptr ? "bool" : "number";
}

// `duplicates`: of JSON, where a key came twice; the last one counts.
json::Value read(const Call& call, const Resource* as, std::vector<std::string>& duplicates) {
  check_size(call);
  const std::string type = media_type(call.header("content-type"));
  if (type == "application/yaml") {
    json::YamlLimits limits;
    limits.depth = 128;
    auto documents = json::parse_yaml(call.request.body, limits);
    if (!documents) throw unrecognized(call, as, go_yaml_error(documents.error().what));
    if (documents->empty()) return nullptr;
    return std::move(documents->front().value);  // what follows the first is not looked at
  }
  const bool protobuf = as == nullptr || !as->custom;  // custom resources have none
  if (protobuf && type == proto::kMediaType) return read_protobuf(call, as);
  const bool json =
      type.empty() ? call.header("content-type").empty() : type == "application/json" || type.ends_with("+json");
  if (!json)
    throw unsupported_media_type(
        fmt::format("the body of the request was in an unknown format - accepted media types include: "
                    "application/json, application/yaml{}{}",
                    protobuf ? ", " : "", protobuf ? proto::kMediaType : ""));
  json::Limits limits;
  limits.depth = 128;
  auto value = json::parse_lenient(call.request.body, duplicates, limits);
  std::string problem;
  if (!value) {
    problem = go_json_error(call.request.body);
    if (problem.empty()) problem = value.error().str();  // beyond our limits
  } else if (!value->is_object() && !value->is_null()) {
    problem = fmt::format(
        "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string "
        "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
        go_kind(*value));
  }
  for (const char* name : {"kind", "apiVersion"}) {
    if (!problem.empty() || !value->is_object()) break;
    const json::Value& given = std::as_const(*value)[name];
    if (!given.is_null() && !given.is_string())
      problem = fmt::format("json: cannot unmarshal {} into Go struct field .{} of type string",
                            given.is_object() ? "object" : go_kind(given), name);
  }
  if (!problem.empty()) throw unrecognized(call, as, "couldn't get version/kind; json parse error: " + problem);
  return std::move(*value);
}

}  // namespace

std::string media_type(std::string_view content_type) {
  std::string out;
  for (const char c : content_type.substr(0, content_type.find(';')))
    if (c != ' ') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

namespace {

// Custom resources say what they are: nothing is filled in for them.
void check_custom_type(Call& call, const Resource& resource, const json::Value& object) {
  const std::string_view kind = object.text("kind");
  const std::string_view version = object.text("apiVersion");
  if (kind.empty()) {
    const bool yaml = media_type(call.header("content-type")) == "application/yaml";
    throw unrecognized(call, &resource,
                       fmt::format("Object 'Kind' is missing in '{}'", yaml ? json::dump(object) : call.request.body));
  }
  if (version != resource.api_version()) {
    // No schema knows what is in it.
    for (const auto& [key, value] : *object.as_object())
      if (key != "kind" && key != "apiVersion" && key != "metadata" &&
          call.field_validation() == Call::FieldValidation::Warn)
        call.warnings.push_back(fmt::format("unknown field \"{}\"", key));
    throw bad_request(fmt::format("the API version in the data ({}) does not match the expected API version ({})",
                                  version, resource.api_version()));
  }
  if (kind == resource.kind) return;
  Problems problems;
  problems.invalid("kind", kind, fmt::format("must be {}", resource.kind));
  throw invalid(resource.group, std::string(kind), object["metadata"].text("name"), problems);
}

}  // namespace

void check_size(const Call& call) {
  if (call.request.body.size() > kMaxBody)
    throw too_large(fmt::format("Request entity too large: limit is {}", kMaxBody));
}

json::Value read_body(const Call& call) {
  std::vector<std::string> duplicates;
  return read(call, nullptr, duplicates);
}

void decode_strictly(Call& call, const Resource& resource, json::Value& object, std::vector<std::string> complaints) {
  std::vector<std::string> found;
  decode_object(resource, object, found);
  std::vector<std::string> unknown = std::move(complaints);
  std::ranges::move(found, std::back_inserter(unknown));
  if (unknown.empty()) return;
  switch (call.field_validation()) {
    case Call::FieldValidation::Ignore: break;
    case Call::FieldValidation::Warn:
      for (std::string& what : unknown) call.warnings.push_back(std::move(what));
      break;
    case Call::FieldValidation::Strict: {
      std::string all;
      for (const std::string& what : unknown) all += (all.empty() ? "" : ", ") + what;
      throw bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}: strict decoding error: {}",
                                    resource.kind, resource.version, resource.kind, all));
    }
  }
}

json::Value read_object(Call& call, const Resource& resource) {
  std::vector<std::string> duplicates;
  json::Value object = read(call, &resource, duplicates);
  if (object.is_null()) object = json::Object();
  if (!object.is_object()) throw bad_request("the body is not an object");
  const std::string kind(object.text("kind"));
  const std::string version(object.text("apiVersion"));
  if (resource.custom) {
    check_custom_type(call, resource, object);
  } else if ((!kind.empty() && kind != resource.kind) || (!version.empty() && version != resource.api_version())) {
    throw bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: no kind \"{}\" is registered for version \"{}\" in "
        "scheme \"pkg/runtime/scheme.go:111\"",
        kind, version.substr(version.find('/') + 1), resource.kind, kind, version));
  }
  put_type_first(object, resource);
  for (std::string& path : duplicates) path = fmt::format("duplicate field \"{}\"", path);
  decode_strictly(call, resource, object, std::move(duplicates));
  return object;
}

json::Value read_delete_options(const Call& call) {
  json::Value out{json::Object()};
  if (!call.request.body.empty()) {
    out = read_body(call);
    if (out.is_null()) out = json::Object();
    if (!out.is_object()) throw bad_request("the body must be DeleteOptions");
    if (const std::string_view kind = out.text("kind"); !kind.empty() && kind != "DeleteOptions")
      throw bad_request(
          fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"", kind,
                      out.text("apiVersion")));
  }
  if (const auto grace = number(call.info, "gracePeriodSeconds")) out["gracePeriodSeconds"] = *grace;
  if (const auto policy = call.info.text("propagationPolicy")) out["propagationPolicy"] = *policy;
  if (const auto orphan = call.info.text("orphanDependents")) out["orphanDependents"] = *orphan == "true";
  if (const auto dry = call.info.text("dryRun")) out["dryRun"] = json::Array{*dry};
  return out;
}

}  // namespace kopper::plane
