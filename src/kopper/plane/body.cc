#include "kopper/plane/body.h"

#include <charconv>

#include <fmt/format.h>

#include "kopper/json/yaml.h"
#include "kopper/plane/behaviour.h"
#include "kopper/plane/proto/decode.h"
#include "kopper/plane/render.h"

namespace kopper::plane {
namespace {

constexpr std::size_t kMaxBody = std::size_t{3} << 20U;  // kube-apiserver's

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

json::Value read(const Call& call, const Resource* as) {
  if (call.request.body.size() > kMaxBody)
    throw too_large(fmt::format("Request entity too large: limit is {}", kMaxBody));
  const std::string type = media_type(call.header("content-type"));
  if (type == "application/yaml") {
    json::YamlLimits limits;
    limits.depth = 128;
    auto documents = json::parse_yaml(call.request.body, limits);
    if (!documents) throw bad_request("error parsing YAML: " + documents.error().what);
    if (documents->size() != 1) throw bad_request("the body must be one YAML document");
    return std::move(documents->front().value);
  }
  const bool protobuf = as == nullptr || !as->custom;  // custom resources have none
  if (protobuf && type == proto::kMediaType) return read_protobuf(call, as);
  if (!type.empty() && type != "application/json" && !type.ends_with("+json"))
    throw unsupported_media_type(
        fmt::format("the body of the request was in an unknown format - accepted media types include: "
                    "application/json, application/yaml{}{}",
                    protobuf ? ", " : "", protobuf ? proto::kMediaType : ""));
  json::Limits limits;
  limits.depth = 128;
  auto value = json::parse(call.request.body, limits);
  if (!value) throw bad_request("couldn't get version/kind; json parse error: " + value.error().str());
  return std::move(*value);
}

}  // namespace

std::string media_type(std::string_view content_type) {
  std::string out;
  for (const char c : content_type.substr(0, content_type.find(';')))
    if (c != ' ') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

json::Value read_body(const Call& call) { return read(call, nullptr); }

void decode_strictly(Call& call, const Resource& resource, json::Value& object) {
  std::vector<std::string> unknown;
  decode_object(resource, object, unknown);
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
  json::Value object = read(call, &resource);
  if (object.is_null()) object = json::Object();
  if (!object.is_object()) throw bad_request("couldn't get version/kind; json parse error: the body is not an object");
  const std::string kind(object.text("kind"));
  const std::string version(object.text("apiVersion"));
  if ((!kind.empty() && kind != resource.kind) || (!version.empty() && version != resource.api_version())) {
    throw bad_request(fmt::format(
        "{} in version \"{}\" cannot be handled as a {}: no kind \"{}\" is registered for version \"{}\" in "
        "scheme \"pkg/runtime/scheme.go:111\"",
        kind, version.substr(version.find('/') + 1), resource.kind, kind, version));
  }
  put_type_first(object, resource);
  decode_strictly(call, resource, object);
  return object;
}

json::Value read_delete_options(const Call& call) {
  json::Value out{json::Object()};
  if (!call.request.body.empty()) {
    out = read_body(call);
    if (!out.is_object()) throw bad_request("the body must be DeleteOptions");
    if (const std::string_view kind = out.text("kind"); !kind.empty() && kind != "DeleteOptions")
      throw bad_request(
          fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"", kind,
                      out.text("apiVersion")));
  }
  const auto number = [&](const char* name) {
    const auto text = call.info.text(name);
    if (!text) return;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc()) throw bad_request(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", *text));
    out[name] = value;
  };
  number("gracePeriodSeconds");
  if (const auto policy = call.info.text("propagationPolicy")) out["propagationPolicy"] = *policy;
  if (const auto orphan = call.info.text("orphanDependents")) out["orphanDependents"] = *orphan == "true";
  if (const auto dry = call.info.text("dryRun")) out["dryRun"] = json::Array{*dry};
  return out;
}

}  // namespace kopper::plane
