#include "kopper/plane/patching.h"

#include <fmt/format.h>

#include "kopper/base/log.h"
#include "kopper/json/lenient.h"
#include "kopper/json/merge_patch.h"
#include "kopper/json/patch.h"
#include "kopper/json/strategic.h"
#include "kopper/json/yaml.h"
#include "kopper/meta/merge.h"
#include "kopper/plane/body.h"
#include "kopper/plane/go_syntax.h"
#include "kopper/plane/reading.h"
#include "kopper/plane/status.h"

namespace kopper::plane {
namespace {

constexpr std::size_t kMaxDepth = 128;  // as of whole objects: what is stored must be read again, with its owners

constexpr std::string_view kJson = "application/json-patch+json";
constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";

Refusal does_not_fit(const DecodeError& error) {
  log::debug("a patch does not fit", {{"error", error.str()}});
  return {422, "Invalid", "the server rejected our request due to an error in our request"};
}

json::Value read_json(const Call& call, std::vector<std::string>& complaints) {
  json::Limits limits;
  limits.depth = kMaxDepth;
  std::vector<std::string> duplicates;
  auto value = json::parse_lenient(call.request.body, duplicates, limits);
  if (!value) throw bad_request("invalid JSON patch");
  for (const std::string& path : duplicates) complaints.push_back(fmt::format("duplicate field \"{}\"", path));
  return std::move(*value);
}

// Members of operations that mean nothing.
void find_unknown(const json::Array& operations, std::vector<std::string>& complaints) {
  for (std::size_t i = 0; i < operations.size(); ++i)
    for (const auto& [key, value] : members(operations[i]))
      if (key != "op" && key != "path" && key != "from" && key != "value")
        complaints.push_back(fmt::format("json patch unknown field \"[{}].{}\"", i, key));
}

json::Value apply_operations(json::Value object, const json::Value& operations) {
  json::PatchLimits limits;
  limits.depth = kMaxDepth;
  limits.replace_adds = true;  // as the real server reads it
  const std::size_t count = operations.as_array()->size();
  if (count > limits.operations)
    throw too_large(
        fmt::format("The allowed maximum operations in a JSON patch is {}, got {}", limits.operations, count));
  auto result = json::apply_patch(std::move(object), operations, limits);
  if (!result) throw does_not_fit(result.error());
  return std::move(*result);
}

json::Value read_yaml(const Call& call) {
  json::YamlLimits limits;
  limits.depth = kMaxDepth;
  auto documents = json::parse_yaml(call.request.body, limits);
  if (!documents) throw bad_request("error encoding patch: " + go_yaml_error(documents.error().what));
  if (documents->size() != 1 || !documents->front().value.is_object())
    throw bad_request("error decoding YAML: the body is not one object");
  return std::move(documents->front().value);
}

}  // namespace

PatchDocument read_patch(const Call& call, const meta::Type* strategic) {
  PatchDocument out;
  out.type = media_type(call.header("content-type"));
  check_size(call);
  out.strategic = strategic;
  Problems problems;
  if (out.is_apply()) {
    if (!call.info.text("fieldManager")) problems.required("fieldManager", "is required for apply patch");
    if (!problems.empty()) throw invalid("meta.k8s.io", "PatchOptions", "", problems);
    out.content = read_yaml(call);
    return out;
  }
  if (out.type != kJson && out.type != kMerge && (out.type != kStrategic || strategic == nullptr)) {
    if (strategic != nullptr) throw unsupported_media_type("415: Unsupported Media Type");
    throw unsupported_media_type(
        fmt::format("the body of the request was in an unknown format - accepted media types include: {}, {}, "
                    "application/apply-patch+yaml",
                    kJson, kMerge));
  }
  if (call.info.text("force")) problems.forbidden("force", "may not be specified for non-apply patch");
  if (!problems.empty()) throw invalid("meta.k8s.io", "PatchOptions", "", problems);
  out.content = read_json(call, out.complaints);
  if (out.type == kJson && !out.content.is_array())
    throw bad_request(
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp");
  if (out.type == kJson) find_unknown(*out.content.as_array(), out.complaints);
  if (out.type != kJson && !out.content.is_object())
    throw bad_request(
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}");
  return out;
}

json::Value PatchDocument::applied_to(const json::Value& object) const {
  if (type == kJson) {
    json::Value result = apply_operations(object, content);
    if (!result.is_object()) throw does_not_fit({.what = "the result is not an object", .path = "", .offset = 0});
    return result;
  }
  if (type == kStrategic) {
    auto result = json::apply_strategic_patch(object, content, meta::merge_schema(*strategic));
    if (!result) throw bad_request(result.error().str());
    return std::move(*result);
  }
  return json::apply_merge_patch(object, content);
}

}  // namespace kopper::plane
