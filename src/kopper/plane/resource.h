#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/meta/type.h"
#include "kopper/plane/schema.h"
#include "kopper/plane/status.h"

namespace kopper::plane {

// Where the scale subresource finds its numbers: ".spec.replicas".
struct ScalePaths {
  std::string spec_replicas;
  std::string status_replicas;
  std::string selector;
};

// What a custom resource has and a built-in kind has not: its definition. Kept alive by those who use the resource.
struct Custom {
  virtual ~Custom() = default;
  json::Value definition;       // the CustomResourceDefinition
  std::string storage_version;  // objects are kept in this one
};

// One version of one kind of object, as it is served.
struct Resource {
  enum Verb : std::uint16_t {
    Create = 1,
    Delete = 2,
    DeleteCollection = 4,
    Get = 8,
    ListVerb = 16,
    Patch = 32,
    Update = 64,
    Watch = 128,
    All = 255,
  };

  std::string group;  // "" for core
  std::string version;
  std::string plural;
  std::string singular;
  std::string kind;
  std::string list_kind;
  bool namespaced = true;
  std::uint16_t verbs = All;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  std::vector<std::string> subresources;  // "status", "scale", "log" …
  const Schema* schema = nullptr;
  const meta::Type* type = nullptr;  // null for custom resources
  std::optional<ScalePaths> scale;
  std::shared_ptr<const Custom> custom;
  std::string deprecation;  // a warning for who uses it

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  // Objects of all versions live in one table: "deployments.apps". Those of both groups of events do, too.
  std::string table() const { return group.empty() || group == "events.k8s.io" ? plural : plural + "." + group; }
  bool has(std::string_view subresource) const;
  Subject subject() const { return {.group = group, .resource = plural}; }
};

using ResourceRef = std::shared_ptr<const Resource>;

// All resources that are served, in the order in which discovery names them.
class Catalog {
 public:
  struct Version {
    std::string version;
    std::vector<ResourceRef> resources;  // by plural
  };
  struct Group {
    std::string name;
    std::vector<Version> versions;  // the preferred one first
  };

  Catalog();

  ResourceRef find(std::string_view group, std::string_view version, std::string_view plural) const;
  // By kind; null when there is none.
  ResourceRef find_kind(std::string_view group, std::string_view version, std::string_view kind) const;
  // Any version of a group's resource, the preferred first.
  ResourceRef find_any(std::string_view group, std::string_view plural) const;
  // Of a table's name: "deployments.apps".
  ResourceRef find_table(std::string_view table) const;
  const Group* group(std::string_view name) const;
  const std::deque<Group>& groups() const { return groups_; }
  // Every group-resource once.
  void each(const std::function<void(const ResourceRef&)>& visit) const;

  // Replaces the one of the same group, version and plural.
  void add(ResourceRef resource);
  void remove(std::string_view group, std::string_view plural);
  // Changes whenever something is added or removed: discovery and OpenAPI are remembered by it.
  std::uint64_t generation() const { return generation_; }

  BuiltinSchemas& schemas() { return schemas_; }

 private:
  BuiltinSchemas schemas_;
  std::deque<Group> groups_;
  std::uint64_t generation_ = 0;
};

// Kubernetes' order of versions: v2, v1, v1beta2, v1beta1, v1alpha1, then anything else by name.
bool version_before(std::string_view a, std::string_view b);

}  // namespace kopper::plane
