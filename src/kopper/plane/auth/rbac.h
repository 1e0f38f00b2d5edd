#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/request_info.h"
#include "kopper/plane/status.h"

// Role-based access control, the part that needs no objects: what a rule allows, and what one set of rules lacks that
// another has.
namespace kopper::plane {

struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> groups;
  std::vector<std::string> resources;  // "pods", "pods/log", "*/scale", "*"
  std::vector<std::string> names;      // empty: all
  std::vector<std::string> urls;       // "/healthz", "/apis/*", "*"

  friend bool operator==(const PolicyRule&, const PolicyRule&) = default;
};

// What somebody wants to do.
struct Action {
  std::string verb;
  bool is_resource = true;
  std::string group;
  std::string resource;
  std::string subresource;
  std::string namespace_;  // empty: the whole cluster
  std::string name;
  std::string path;  // when it is no resource
};

// A list or watch of one name (fieldSelector=metadata.name=x) is about that name.
Action action_of(const RequestInfo& info);

bool allows(const PolicyRule& rule, const Action& action);

// What `wanted` allows and no rule of `owned` does, in rules of one group, resource, verb and name each.
std::vector<PolicyRule> missing(std::span<const PolicyRule> owned, std::span<const PolicyRule> wanted);
// The lines that kube-apiserver prints of them: verbs joined, sorted.
//
//   {APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}
std::string describe(const std::vector<PolicyRule>& rules);

// The 403 that says who cannot do what; `reason` may be empty.
Refusal access_denied(std::string_view user, const Action& action, std::string_view reason);

// Of the `rules` of a role. Members of the wrong type are left out.
std::vector<PolicyRule> rules_of(const json::Value& rules);
json::Value to_json(const PolicyRule& rule);

// "a" → "\"a\"", as Go's %q; a list as ["a" "b"].
std::string quoted(std::string_view text);
std::string quoted(const std::vector<std::string>& texts);

}  // namespace kopper::plane
