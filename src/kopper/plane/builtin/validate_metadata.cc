#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kopper/plane/builtin/check.h"
#include "kopper/plane/builtin/validate.h"

namespace kopper::plane::builtin {
namespace {

constexpr std::size_t kAnnotationBytes = std::size_t{256} << 10U;

api::Complaints path_segment(std::string_view name) {
  if (name == "." || name == "..") return {fmt::format("may not be '{}'", name)};
  api::Complaints out;
  for (const char c : {'/', '%'})
    if (name.find(c) != std::string_view::npos) out.push_back(fmt::format("may not contain '{}'", c));
  return out;
}

api::Complaints check_name(NameRule rule, std::string_view name) {
  switch (rule) {
    case NameRule::Subdomain: return api::check_dns_subdomain(name);
    case NameRule::Label: return api::check_dns_label(name);
    case NameRule::Path: return path_segment(name);
  }
  return {};
}

// What is generated gets a suffix: its '-' is not the end.
std::string without_dash(std::string_view name) {
  std::string out(name);
  if (out.size() > 1 && out.ends_with('-')) out.back() = 'a';
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + ('a' - 'A')) : c; });
  return out;
}

void check_annotations(Check& check, const Path& path, const Value& annotations) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : members(annotations)) {
    check.names(path, key, api::check_label_key(lower(key)));
    const std::string* text = value.as_string();
    bytes += key.size() + (text == nullptr ? 0 : text->size());
  }
  if (bytes > kAnnotationBytes) check.too_long(path, kAnnotationBytes);
}

void check_owner(Check& check, const Path& path, const Value& owner) {
  const std::string_view version = owner.text("apiVersion");
  if (version.empty()) {
    check.required(path / "apiVersion", "must not be empty");
  } else if (std::ranges::count(version, '/') > 1 || version.ends_with('/')) {
    check.invalid(path / "apiVersion", Value(version), "must be <group>/<version> or <version>");
  }
  for (const char* member : {"kind", "name", "uid"})
    if (owner.text(member).empty()) check.required(path / member, "must not be empty");
  if (version == "v1" && owner.text("kind") == "Event")
    check.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner");
}

void check_owners(Check& check, const Path& path, const Value& owners) {
  std::string first;
  const Array& all = items(owners);
  for (std::size_t i = 0; i < all.size(); ++i) {
    check_owner(check, path[i], all[i]);
    if (all[i]["controller"] != Value(true)) continue;
    const std::string name = fmt::format("{}/{}", all[i].text("kind"), all[i].text("name"));
    if (first.empty()) {
      first = name;
    } else {
      check.invalid(path, owners,
                    fmt::format("Only one reference can have Controller set to true. Found \"true\" in references for "
                                "{} and {}",
                                first, name));
    }
  }
}

// Definitions and custom resources may have finalizers of any name.
bool has_standard_finalizers(std::string_view api_version) {
  const std::string_view group =
      api_version.substr(0, api_version.contains('/') ? api_version.find('/') : std::size_t{0});
  if (group == "apiextensions.k8s.io" || group == "apiregistration.k8s.io") return false;
  return group.find('.') == std::string_view::npos || group.ends_with(".k8s.io");
}

void check_finalizers(Check& check, const Path& path, const Value& finalizers, std::string_view api_version) {
  const Array& all = items(finalizers);
  for (const Value& one : all)
    if (const std::string* name = one.as_string()) check.names(path, one, api::check_label_key(*name));
  const auto has = [&](const char* name) { return std::ranges::find(all, Value(name)) != all.end(); };
  if (has("orphan") && has("foregroundDeletion"))
    check.invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
  if (!has_standard_finalizers(api_version)) return;
  static constexpr std::array<std::string_view, 3> kStandard{"kubernetes", "orphan", "foregroundDeletion"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string* name = all[i].as_string();
    if (name != nullptr && name->find('/') == std::string::npos &&
        std::ranges::find(kStandard, std::string_view(*name)) == kStandard.end())
      check.invalid(path[i], all[i], "name is neither a standard finalizer name nor is it fully qualified");
  }
}

void check_update(Check& check, const Path& path, const Value& metadata, const Value& old) {
  if (!old["deletionTimestamp"].is_null()) {
    std::vector<std::string> extra;
    const Array& known = items(old["finalizers"]);
    for (const Value& one : items(metadata["finalizers"]))
      if (std::ranges::find(known, one) == known.end()) extra.push_back(json::dump(one));
    std::ranges::sort(extra);
    if (!extra.empty())
      check.forbidden(path / "finalizers",
                      fmt::format("no new finalizers can be added if the object is being deleted, found new finalizers "
                                  "[]string{{{}}}",
                                  fmt::join(extra, ", ")));
  }
  check.immutable(path / "uid", metadata["uid"], old["uid"]);
}

}  // namespace

void validate_metadata(const Value& object, const Value* old, NameRule rule, Problems& problems) {
  Check check(problems);
  const Path path("metadata");
  const Value& metadata = object["metadata"];
  const std::string_view name = metadata.text("name");
  if (old == nullptr) {
    if (const std::string_view prefix = metadata.text("generateName"); !prefix.empty())
      check.names(path / "generateName", Value(prefix), check_name(rule, without_dash(prefix)));
    if (name.empty()) {
      check.required(path / "name", "name or generateName is required");
    } else {
      check.names(path / "name", Value(name), check_name(rule, name));
    }
  }
  check.labels(path / "labels", metadata["labels"]);
  check_annotations(check, path / "annotations", metadata["annotations"]);
  check_owners(check, path / "ownerReferences", metadata["ownerReferences"]);
  if (old != nullptr) check_update(check, path, metadata, (*old)["metadata"]);
  check_finalizers(check, path / "finalizers", metadata["finalizers"], object.text("apiVersion"));
}

}  // namespace kopper::plane::builtin
