// create, update and patch.
#include <fmt/format.h>

#include "kopper/json/merge_patch.h"
#include "kopper/json/patch.h"
#include "kopper/json/strategic.h"
#include "kopper/json/yaml.h"
#include "kopper/meta/merge.h"
#include "kopper/plane/behaviour.h"
#include "kopper/plane/body.h"
#include "kopper/plane/ownership.h"
#include "kopper/plane/save.h"

namespace kopper::plane {
namespace {

// dryRun takes one value, fieldValidation three.
void check_options(const Call& call, const char* kind) {
  Problems problems;
  if (const auto dry = call.info.text("dryRun"); dry && *dry != "All")
    problems.not_supported("dryRun", json::Value(json::Array{*dry}), {"All"});
  if (const auto v = call.info.text("fieldValidation"); v && *v != "Ignore" && *v != "Warn" && *v != "Strict")
    problems.not_supported("fieldValidation", *v, {"Ignore", "Strict", "Warn"});
  if (const auto manager = call.info.text("fieldManager"); manager && manager->size() > 128)
    problems.too_long("fieldManager", 128);
  if (!problems.empty()) throw invalid("meta.k8s.io", kind, "", problems);
}

Task<http::Response> saved(Core& core, const Call& call, Saved saved) {
  const Output output = negotiate(call.info, call.header("accept"));
  const Renderer renderer(call.resource, output, *core.converter);
  std::string body;
  if (saved.stored) {
    body = co_await renderer.object(saved.stored);
  } else {
    body = renderer.object(saved.value);
  }
  co_return answer(call, saved.created ? 201 : 200, std::move(body), output);
}

Refusal unknown_patch(const Resource& resource) {
  return unsupported_media_type(fmt::format(
      "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
      "application/merge-patch+json, {}application/apply-patch+yaml",
      resource.type != nullptr ? "application/strategic-merge-patch+json, " : ""));
}

json::Value patch_document(const Call& call) {
  json::Limits limits;
  limits.depth = 128;
  auto value = json::parse(call.request.body, limits);
  if (!value) throw bad_request("error decoding patch: " + value.error().str());
  return std::move(*value);
}

Refusal patch_failed(const DecodeError& error) {
  Refusal out(422, "Invalid", "the server rejected our request due to an error in our request: " + error.str());
  return out;
}

// A patch works on the object as it is; what comes out is decoded like any object that a client sends.
json::Value patched(Call& call, const std::string& type, const json::Value& document, const json::Value& current) {
  const Resource& resource = *call.resource;
  json::Value out;
  if (type == "application/json-patch+json") {
    if (!document.is_array())
      throw bad_request("error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch");
    auto result = json::apply_patch(current, document);
    if (!result) throw patch_failed(result.error());
    out = std::move(*result);
  } else if (type == "application/merge-patch+json") {
    if (!document.is_object()) throw bad_request("error decoding patch: a merge patch is an object");
    out = json::apply_merge_patch(current, document);
  } else {
    auto result = json::apply_strategic_patch(current, document, meta::merge_schema(*resource.type));
    if (!result) throw bad_request(result.error().str());
    out = std::move(*result);
  }
  if (!out.is_object()) throw patch_failed({.what = "the result is not an object", .path = "", .offset = 0});
  if (out.text("kind") != resource.kind || out.text("apiVersion") != resource.api_version())
    throw bad_request(fmt::format("{} in version \"{}\" cannot be handled as a {}", out.text("kind"),
                                  out.text("apiVersion"), resource.kind));
  decode_strictly(call, resource, out);
  return out;
}

Task<Saved> apply(Core& core, Call& call, std::string subresource) {
  const Resource& resource = *call.resource;
  Problems problems;
  if (!call.info.text("fieldManager")) problems.required("fieldManager", "is required for apply patch");
  if (!problems.empty()) throw invalid("meta.k8s.io", "PatchOptions", "", problems);
  auto documents = json::parse_yaml(call.request.body);
  if (!documents) throw bad_request("error decoding YAML: " + documents.error().what);
  if (documents->size() != 1 || !documents->front().value.is_object())
    throw bad_request("error decoding YAML: the body is not one object");
  json::Value config = std::move(documents->front().value);
  if (config.text("kind").empty() || config.text("apiVersion").empty())
    throw bad_request("couldn't get version/kind; json parse error: both apiVersion and kind must be set");
  if (config.text("kind") != resource.kind || config.text("apiVersion") != resource.api_version())
    throw bad_request(
        fmt::format("Incorrect version specified in apply patch. Specified patch version: {}, expected: {}",
                    config.text("apiVersion"), resource.api_version()));
  const bool force = call.info.flag("force");
  const Manager manager{.name = call.manager(), .subresource = subresource, .now = core.now()};
  const Edit edit = [&](const json::Value* current) {
    json::Value wanted = config;
    decode_strictly(call, resource, wanted);
    return apply_config(resource, current, wanted, manager, force);
  };
  SaveOptions options{.create = subresource.empty(), .tracked = false, .subresource = subresource};
  co_return co_await save(core, call, edit, options);
}

}  // namespace

Task<http::Response> create(Core& core, Call& call) {
  check_options(call, "CreateOptions");
  json::Value object = read_object(call, *call.resource);
  Saved done = co_await save_new(core, call, std::move(object));
  co_return co_await saved(core, call, std::move(done));
}

Task<http::Response> update(Core& core, Call& call) {
  check_options(call, "UpdateOptions");
  json::Value object = read_object(call, *call.resource);
  const Edit edit = [&](const json::Value*) { return object; };
  // Leases and events may be made by an update, as in the real server.
  const bool create =
      call.info.subresource.empty() && (call.resource->kind == "Lease" || call.resource->kind == "Event");
  SaveOptions options{.create = create, .tracked = true, .subresource = call.info.subresource};
  Saved done = co_await save(core, call, edit, options);
  co_return co_await saved(core, call, std::move(done));
}

Task<http::Response> patch(Core& core, Call& call) {
  check_options(call, "PatchOptions");
  const std::string type = media_type(call.header("content-type"));
  const std::string subresource = call.info.subresource;
  if (type == "application/apply-patch+yaml" || type == "application/apply-patch+json") {
    Saved done = co_await apply(core, call, subresource);
    co_return co_await saved(core, call, std::move(done));
  }
  const bool known = type == "application/json-patch+json" || type == "application/merge-patch+json" ||
                     (type == "application/strategic-merge-patch+json" && call.resource->type != nullptr);
  if (!known) throw unknown_patch(*call.resource);
  if (call.info.text("force")) {
    Problems problems;
    problems.forbidden("force", "may not be specified for non-apply patch");
    throw invalid("meta.k8s.io", "PatchOptions", "", problems);
  }
  const json::Value document = patch_document(call);
  const Edit edit = [&](const json::Value* current) { return patched(call, type, document, *current); };
  SaveOptions options{.create = false, .tracked = true, .subresource = subresource};
  Saved done = co_await save(core, call, edit, options);
  co_return co_await saved(core, call, std::move(done));
}

}  // namespace kopper::plane
