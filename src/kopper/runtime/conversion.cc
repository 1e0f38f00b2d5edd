#include "kopper/runtime/conversion.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kopper::runtime {

namespace {

struct GroupVersion {
  std::string_view group, version;
};

GroupVersion split(std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return {{}, api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

// "cache.example.com/v1 Memcached demo/a"
std::string describe(const json::Value& object) {
  const auto& metadata = object["metadata"];
  const Key key(std::string(metadata.text("namespace")), std::string(metadata.text("name")));
  return fmt::format("{} {} {}", object.text("apiVersion"), object.text("kind"), key.str());
}

// The metadata of before, but for labels and annotations: the server refuses any other change, and a type may not know
// all of it (managedFields).
json::Value kept_metadata(const json::Value& before, const json::Value& after) {
  json::Value out = before;
  for (const std::string_view name : {"labels", "annotations"}) {
    if (const auto& changed = after[name]; !changed.is_null()) {
      out[name] = changed;
    } else if (auto* members = out.as_object()) {
      members->erase(name);
    }
  }
  return out;
}

std::expected<json::Value, std::string> convert_any(const json::Value& object, std::string_view desired,
                                                    const std::vector<Conversion>& conversions) {
  const auto wanted = split(desired);
  if (object.text("apiVersion") == desired) return object;
  const auto found = std::ranges::find_if(conversions, [&](const Conversion& c) {
    return c.kind().kind == object.text("kind") && c.kind().group == wanted.group;
  });
  if (found == conversions.end())
    return std::unexpected(fmt::format("no conversion of this kind to {} is registered", desired));
  if (split(object.text("apiVersion")).group != wanted.group)
    return std::unexpected(fmt::format("{} is another group", desired));
  try {
    return found->convert(object, wanted.version);
  } catch (const std::exception& error) {
    return std::unexpected(std::string(error.what()));
  }
}

}  // namespace

std::vector<std::string> Conversion::versions() const {
  std::vector<std::string> out;
  for (const auto& version : versions_) out.emplace_back(version.kind->version);
  return out;
}

void Conversion::add(Version spoke) {
  if (find(spoke.kind->version) != nullptr)
    throw Error(Code::Invalid, fmt::format("conversion of {}: version {} is there twice", kind_->resource_name(),
                                           spoke.kind->version));
  versions_.push_back(std::move(spoke));
}

const Conversion::Version* Conversion::find(std::string_view version) const {
  const auto found = std::ranges::find(versions_, version, [](const Version& v) { return v.kind->version; });
  return found == versions_.end() ? nullptr : &*found;
}

std::expected<json::Value, std::string> Conversion::convert(const json::Value& object, std::string_view to) const {
  const auto from_version = split(object.text("apiVersion")).version;
  const Version* from = find(from_version);
  const Version* target = find(to);
  if (from == nullptr || target == nullptr)
    return std::unexpected(fmt::format("version {} is not known; there are {}", from == nullptr ? from_version : to,
                                       fmt::join(versions(), ", ")));
  if (from == target) return object;
  auto decoded = from->decode(object);
  if (!decoded) return std::unexpected(decoded.error().str());
  Any now = std::move(*decoded);
  if (from->to_hub) now = from->to_hub(now.get());
  if (target->from_hub) now = target->from_hub(now.get());
  auto out = target->encode(now.get());
  out["metadata"] = kept_metadata(object["metadata"], out["metadata"]);
  return out;
}

std::expected<json::Value, std::string> answer_conversion(const json::Value& review,
                                                          const std::vector<Conversion>& conversions) {
  const auto api_version = review.text("apiVersion");
  if (review.text("kind") != "ConversionReview" || split(api_version).group != "apiextensions.k8s.io")
    return std::unexpected("not a ConversionReview of apiextensions.k8s.io");
  const auto& request = review["request"];
  const auto* objects = request["objects"].as_array();
  const auto desired = request.text("desiredAPIVersion");
  if (objects == nullptr || desired.empty() || request.text("uid").empty())
    return std::unexpected("a ConversionReview without uid, objects or desiredAPIVersion");

  json::Array converted;
  json::Object result{{"status", "Success"}};
  for (const auto& object : *objects) {
    auto one = convert_any(object, desired, conversions);
    if (!one) {
      converted.clear();
      result = {{"status", "Failure"},
                {"message", fmt::format("{} to {}: {}", describe(object), desired, one.error())}};
      break;
    }
    converted.push_back(std::move(*one));
  }
  json::Object response{{"uid", request.text("uid")}, {"result", std::move(result)}};
  response["convertedObjects"] = std::move(converted);
  return json::Object{{"apiVersion", api_version}, {"kind", "ConversionReview"}, {"response", std::move(response)}};
}

}  // namespace kopper::runtime
