#include "kopper/app/rbac.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"

namespace kopper::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Kind kMemcached{"cache.example.com", "v1alpha1", "Memcached"};
constexpr Kind kNode{.group = "", .version = "v1", .kind = "Node", .scope = Scope::Cluster};

// "get,list pods,services of core only a,b"
std::vector<std::string> lines(const std::vector<api::rbacv1::PolicyRule>& rules) {
  std::vector<std::string> out;
  const auto joined = [](const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ",") + word;
    return text;
  };
  for (const auto& rule : rules) {
    auto line = joined(rule.verbs) + " " + joined(rule.resources) + " of " +
                (rule.apiGroups.front().empty() ? "core" : joined(rule.apiGroups));
    if (!rule.resourceNames.empty()) line += " only " + joined(rule.resourceNames);
    out.push_back(std::move(line));
  }
  return out;
}

TEST(PolicyRules, GiveAControllerWhatItUsesAndNoMore) {
  const auto uses = reconciles(kMemcached, {.finalizer = true}) + owns(Deployment::kind) + watches(Pod::kind);
  EXPECT_THAT(lines(policy_rules(uses)),
              ElementsAre("get,list,watch pods of core",  //
                          "get,list,watch,create,patch,delete deployments of apps",
                          "get,list,watch,patch memcacheds of cache.example.com",
                          "update memcacheds/finalizers of cache.example.com",
                          "get,patch memcacheds/status of cache.example.com"));
}

TEST(PolicyRules, LeaveOutWhatAControllerDoesNotUse) {
  const auto uses = reconciles(kMemcached, {.status = false, .finalizer = false, .owns = false});
  EXPECT_THAT(lines(policy_rules(uses)), ElementsAre("get,list,watch memcacheds of cache.example.com"));
}

TEST(PolicyRules, MergeWhatHasTheSameVerbs) {
  const auto uses = watches(Service::kind) + watches(Pod::kind) + watches(ConfigMap::kind) + watches(Pod::kind);
  EXPECT_THAT(lines(policy_rules(uses)), ElementsAre("get,list,watch configmaps,pods,services of core"));
}

TEST(PolicyRules, DoNotDependOnTheOrderOfUses) {
  auto uses = owns(Service::kind) + watches(Pod::kind) + keeps_secret("b") + keeps_secret("a") + writes_events();
  const auto rules = policy_rules(uses);
  std::ranges::reverse(uses);
  EXPECT_EQ(policy_rules(uses), rules);
}

TEST(PolicyRules, NeverLimitCreateToNames) {
  EXPECT_THAT(lines(policy_rules(keeps_secret("b") + keeps_secret("a"))),
              ElementsAre("create secrets of core", "get,update secrets of core only a,b"));
}

TEST(PolicyRules, DoNotAllowForSomeWhatIsAllowedForAll) {
  EXPECT_THAT(lines(policy_rules(watches(Secret::kind) + keeps_secret("a"))),
              ElementsAre("get,list,watch,create secrets of core", "update secrets of core only a"));
}

TEST(PolicyRules, KeepVerbsThatNobodyKnows) {
  const Uses uses = {{.group = "policy", .resource = "podsecuritypolicies", .verbs = {"use", "approve", "get"}}};
  EXPECT_THAT(lines(policy_rules(uses)), ElementsAre("get,approve,use podsecuritypolicies of policy"));
}

TEST(Rbac, OfAllNamespacesIsAClusterRoleAndARoleForItsOwn) {
  const auto made = rbac(watches(Pod::kind) + holds_lease("lock"), {.name = "op", .namespace_ = "op-system"});
  ASSERT_THAT(made.cluster_roles, SizeIs(1));
  ASSERT_THAT(made.roles, SizeIs(1));
  EXPECT_THAT(lines(made.cluster_roles[0].rules), ElementsAre("get,list,watch pods of core"));
  EXPECT_EQ(made.roles[0].metadata.namespace_, "op-system");
  EXPECT_THAT(lines(made.roles[0].rules), ElementsAre("create leases of coordination.k8s.io",
                                                      "get,list,watch,update leases of coordination.k8s.io only lock"));
  EXPECT_EQ(made.role_bindings[0].subjects[0].namespace_, "op-system");
}

TEST(Rbac, OfSomeNamespacesHasNoClusterRoleForThem) {
  const auto made = rbac(watches(Pod::kind) + watches(kNode) + holds_lease("lock"),
                         {.name = "op", .namespace_ = "op-system", .watched_namespaces = {"b", "a", "b"}});
  ASSERT_THAT(made.cluster_roles, SizeIs(1));
  EXPECT_THAT(lines(made.cluster_roles[0].rules), ElementsAre("get,list,watch nodes of core"));
  ASSERT_THAT(made.roles, SizeIs(3));
  EXPECT_EQ(made.roles[0].metadata.namespace_, "a");
  EXPECT_EQ(made.roles[1].metadata.namespace_, "b");
  EXPECT_EQ(made.roles[2].metadata.namespace_, "op-system");
  // The binding is where the role is; the subject where the program runs.
  EXPECT_EQ(made.role_bindings[0].metadata.namespace_, "a");
  EXPECT_EQ(made.role_bindings[0].subjects[0].namespace_, "op-system");
}

TEST(Rbac, OfNothingIsNothing) {
  const auto made = rbac({}, {});
  EXPECT_THAT(made.cluster_roles, IsEmpty());
  EXPECT_THAT(made.roles, IsEmpty());
  EXPECT_EQ(to_yaml(made), "");
}

TEST(Rbac, IsPrintedAsYaml) {
  const auto uses = reconciles(kMemcached, {.owns = false}) + injects_ca({"op"}, {}, {});
  EXPECT_EQ(to_yaml(rbac(uses, {.name = "op", .namespace_ = "op-system", .labels = {{"app", "op"}}})),
            R"(apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: op
  labels:
    app: op
rules:
- verbs:
  - create
  apiGroups:
  - admissionregistration.k8s.io
  resources:
  - mutatingwebhookconfigurations
- verbs:
  - get
  - patch
  apiGroups:
  - admissionregistration.k8s.io
  resources:
  - mutatingwebhookconfigurations
  resourceNames:
  - op
- verbs:
  - get
  - list
  - watch
  apiGroups:
  - cache.example.com
  resources:
  - memcacheds
- verbs:
  - get
  - patch
  apiGroups:
  - cache.example.com
  resources:
  - memcacheds/status
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: op
  labels:
    app: op
subjects:
- kind: ServiceAccount
  name: op
  namespace: op-system
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: op
)");
}

}  // namespace
}  // namespace kopper::app
