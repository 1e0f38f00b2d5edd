#include "kopper/plane/resource.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "kopper/plane/kinds.h"

namespace kopper::plane {
namespace {

// (rank, major, minor): GA above beta above alpha; anything else last.
std::tuple<int, int, int> rank(std::string_view version) {
  const auto number = [&](int& out) {
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), out);
    if (error != std::errc()) return false;
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    return true;
  };
  int major = 0;
  int minor = 0;
  if (!version.starts_with('v')) return {0, 0, 0};
  version.remove_prefix(1);
  if (!number(major)) return {0, 0, 0};
  if (version.empty()) return {3, major, 0};
  int stage = 0;
  if (version.starts_with("beta")) {
    stage = 2;
    version.remove_prefix(4);
  } else if (version.starts_with("alpha")) {
    stage = 1;
    version.remove_prefix(5);
  }
  if (stage == 0 || !number(minor) || !version.empty()) return {0, 0, 0};
  return {stage, major, minor};
}

}  // namespace

bool version_before(std::string_view a, std::string_view b) {
  const auto x = rank(a);
  const auto y = rank(b);
  return x != y ? x > y : a < b;
}

bool Resource::has(std::string_view subresource) const {
  return std::ranges::find(subresources, subresource) != subresources.end();
}

Catalog::Catalog() { add_builtin_kinds(*this); }

const Catalog::Group* Catalog::group(std::string_view name) const {
  const auto at = std::ranges::find(groups_, name, &Group::name);
  return at == groups_.end() ? nullptr : &*at;
}

ResourceRef Catalog::find(std::string_view group_name, std::string_view version, std::string_view plural) const {
  const Group* in = group(group_name);
  if (in == nullptr) return nullptr;
  for (const Version& v : in->versions) {
    if (v.version != version) continue;
    const auto at = std::ranges::lower_bound(v.resources, plural, {},
                                             [](const ResourceRef& r) { return std::string_view(r->plural); });
    if (at != v.resources.end() && (*at)->plural == plural) return *at;
  }
  return nullptr;
}

ResourceRef Catalog::find_kind(std::string_view group_name, std::string_view version, std::string_view kind) const {
  const Group* in = group(group_name);
  if (in == nullptr) return nullptr;
  for (const Version& v : in->versions)
    if (v.version == version)
      for (const ResourceRef& r : v.resources)
        if (r->kind == kind) return r;
  return nullptr;
}

ResourceRef Catalog::find_any(std::string_view group_name, std::string_view plural) const {
  const Group* in = group(group_name);
  if (in == nullptr) return nullptr;
  for (const Version& v : in->versions)
    if (ResourceRef found = find(group_name, v.version, plural)) return found;
  return nullptr;
}

ResourceRef Catalog::find_table(std::string_view table) const {
  const std::size_t dot = table.find('.');
  return find_any(dot == std::string_view::npos ? "" : table.substr(dot + 1), table.substr(0, dot));
}

void Catalog::each(const std::function<void(const ResourceRef&)>& visit) const {
  for (const Group& g : groups_)
    for (const Version& v : g.versions)
      for (const ResourceRef& r : v.resources)
        if (find_any(g.name, r->plural) == r) visit(r);
}

void Catalog::add(ResourceRef resource) {
  ++generation_;
  auto in = std::ranges::find(groups_, resource->group, &Group::name);
  if (in == groups_.end()) {
    groups_.push_back({.name = resource->group, .versions = {}});
    in = std::prev(groups_.end());
  }
  auto v = std::ranges::find(in->versions, resource->version, &Version::version);
  if (v == in->versions.end()) {
    const auto before = std::ranges::find_if(
        in->versions, [&](const Version& other) { return version_before(resource->version, other.version); });
    v = in->versions.insert(before, {.version = resource->version, .resources = {}});
  }
  const auto at = std::ranges::lower_bound(v->resources, resource->plural, {},
                                           [](const ResourceRef& r) { return std::string_view(r->plural); });
  if (at != v->resources.end() && (*at)->plural == resource->plural) {
    *at = std::move(resource);
  } else {
    v->resources.insert(at, std::move(resource));
  }
}

void Catalog::remove(std::string_view group_name, std::string_view plural) {
  ++generation_;
  const auto in = std::ranges::find(groups_, group_name, &Group::name);
  if (in == groups_.end()) return;
  for (Version& v : in->versions) std::erase_if(v.resources, [&](const ResourceRef& r) { return r->plural == plural; });
  std::erase_if(in->versions, [](const Version& v) { return v.resources.empty(); });
  if (in->versions.empty()) groups_.erase(in);
}

}  // namespace kopper::plane
