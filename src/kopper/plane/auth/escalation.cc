#include "kopper/plane/auth/escalation.h"

#include <fmt/format.h>

namespace kopper::plane {
namespace {

constexpr const char* kGroup = "rbac.authorization.k8s.io";

Action on(const char* verb, std::string resource, std::string name, std::string namespace_) {
  Action out;
  out.verb = verb;
  out.group = kGroup;
  out.resource = std::move(resource);
  out.name = std::move(name);
  out.namespace_ = std::move(namespace_);
  return out;
}

// Finalizers and owners may be taken off by who takes care of garbage.
bool same_but_for_garbage(const json::Value& a, const json::Value& b) {
  const auto rest = [](const json::Value& v) {
    json::Value out = v;
    json::Value& metadata = out["metadata"];
    for (const char* name : {"finalizers", "ownerReferences", "managedFields", "resourceVersion"})
      if (metadata.is_object()) metadata.as_object()->erase(name);
    return out;
  };
  return rest(a) == rest(b);
}

void require_held(const Authorizer& authorizer, const Call& call, const Attempt& attempt,
                  const std::vector<PolicyRule>& wanted, const char* instead = nullptr) {
  const Authorizer::Rules owned = authorizer.rules_for(call.user, attempt.namespace_);
  const std::vector<PolicyRule> lacking = missing(owned.rules, wanted);
  if (lacking.empty()) return;
  std::string why = instead != nullptr
                        ? instead
                        : fmt::format(
                              "user {} (groups={}) is attempting to grant RBAC permissions not currently "
                              "held:\n{}",
                              quoted(call.user.name), quoted(call.user.groups), describe(lacking));
  if (instead == nullptr && !owned.error.empty()) why += fmt::format("; resolution errors: [{}]", owned.error);
  throw forbidden(attempt.resource->subject(), attempt.object["metadata"].text("name"), why);
}

void check_role(const Authorizer& authorizer, const Call& call, const Attempt& attempt) {
  const std::string& resource = attempt.resource->plural;
  if (authorizer.decide(call.user, on("escalate", resource, call.info.name, attempt.namespace_)).allowed) return;
  require_held(authorizer, call, attempt, rules_of(attempt.object["rules"]));
  const auto aggregates = [](const json::Value& role) {
    const json::Array* selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    return selectors != nullptr && !selectors->empty();
  };
  if (!aggregates(attempt.object) && !aggregates(attempt.old)) return;
  const PolicyRule everything{.verbs = {"*"}, .groups = {"*"}, .resources = {"*"}, .names = {}, .urls = {}};
  const PolicyRule everywhere{.verbs = {"*"}, .groups = {}, .resources = {}, .names = {}, .urls = {"*"}};
  require_held(authorizer, call, attempt, {everything, everywhere},
               "must have cluster-admin privileges to use the aggregationRule");
}

void check_binding(const Authorizer& authorizer, const Call& call, const Attempt& attempt) {
  const json::Value& ref = attempt.object["roleRef"];
  const std::string_view kind = ref.text("kind");
  const std::string name(ref.text("name"));
  if (kind != "Role" && kind != "ClusterRole") return;  // validation says what is wrong
  const char* resource = kind == "Role" ? "roles" : "clusterroles";
  if (authorizer.decide(call.user, on("bind", resource, name, attempt.namespace_)).allowed) return;
  const std::vector<PolicyRule>* rules = authorizer.role(kind, name, attempt.namespace_);
  if (rules == nullptr) throw not_found(attempt.resource->subject(), name);
  require_held(authorizer, call, attempt, *rules);
}

}  // namespace

void forbid_escalation(const Authorizer& authorizer, const Call& call, const Attempt& attempt) {
  const Resource& resource = *attempt.resource;
  if (resource.group != kGroup || call.user.in("system:masters")) return;
  if (attempt.operation == Attempt::Operation::Update && same_but_for_garbage(attempt.object, attempt.old)) return;
  if (resource.plural == "roles" || resource.plural == "clusterroles") check_role(authorizer, call, attempt);
  if (resource.plural == "rolebindings" || resource.plural == "clusterrolebindings")
    check_binding(authorizer, call, attempt);
}

}  // namespace kopper::plane
