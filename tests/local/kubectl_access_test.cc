// Who may do what, as kubectl asks and tells.
#include <algorithm>

#include "local/kubectl.h"

namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

using KubectlAccess = Kubectl;

TEST_F(KubectlAccess, AsksWhatOneMayDo) {
  EXPECT_EQ(ok({"auth", "can-i", "create", "pods"}), "yes\n");
  EXPECT_EQ(ok({"auth", "can-i", "*", "*"}), "yes\n");
  const Output no = kubectl({"auth", "can-i", "list", "pods", "--as=jane"});
  EXPECT_EQ(no.exit, 1);
  EXPECT_EQ(no.out, "no\n");
  ok({"create", "role", "reader", "--verb=get,list", "--resource=pods,pods/log"});
  ok({"create", "rolebinding", "reader", "--role=reader", "--user=jane", "--group=readers"});
  EXPECT_EQ(ok({"auth", "can-i", "list", "pods", "--as=jane"}), "yes\n");
  EXPECT_EQ(ok({"auth", "can-i", "get", "pods", "--subresource=log", "--as=joe", "--as-group=readers"}), "yes\n");
  EXPECT_EQ(kubectl({"auth", "can-i", "delete", "pods", "--as=jane"}).out, "no\n");
  EXPECT_EQ(kubectl({"auth", "can-i", "get", "/healthz/etcd", "--as=jane"}).exit, 1);
  EXPECT_THAT(ok({"auth", "can-i", "--list", "--as=jane"}),
              AllOf(ContainsRegex("\npods +\\[\\] +\\[\\] +\\[get list\\]"), HasSubstr("selfsubjectaccessreviews")));
  if (client_minor() >= 28) {
    EXPECT_THAT(ok({"auth", "whoami"}), AllOf(ContainsRegex("Username +token-admin"), HasSubstr("system:masters")));
    EXPECT_THAT(ok({"auth", "whoami", "--as=jane"}), ContainsRegex("Username +jane"));
  }
}

TEST_F(KubectlAccess, ActsAsAnother) {
  EXPECT_THAT(refused({"get", "pods", "--as=jane"}),
              HasSubstr("pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \"\" in the "
                        "namespace \"" +
                        ns + "\""));
  ok({"create", "role", "writer", "--verb=create", "--resource=configmaps,roles"});
  ok({"create", "rolebinding", "writer", "--role=writer", "--user=jane"});
  EXPECT_EQ(ok({"create", "configmap", "c", "--as=jane"}), "configmap/c created\n");
  EXPECT_EQ(ok({"create", "role", "less", "--verb=create", "--resource=configmaps", "--as=jane"}),
            "role.rbac.authorization.k8s.io/less created\n");
  EXPECT_THAT(refused({"create", "role", "more", "--verb=get", "--resource=secrets", "--as=jane"}),
              HasSubstr("is attempting to grant RBAC permissions not currently held"));
}

TEST_F(KubectlAccess, ReconcilesRoles) {
  const std::string role =
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: " + ns +
      "}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n";
  EXPECT_THAT(ok({"auth", "reconcile", "-f", "-"}, role), HasSubstr("role.rbac.authorization.k8s.io/r reconciled"));
  EXPECT_EQ(field("role/r", ".rules[0].resources"), R"(["pods"])");
}

TEST_F(KubectlAccess, MakesTokensThatTheServerKnows) {
  if (client_minor() < 24) GTEST_SKIP() << "kubectl create token came with 1.24";
  ok({"create", "serviceaccount", "app"});
  std::string token = ok({"create", "token", "app", "--duration=1h"});
  ASSERT_EQ(std::ranges::count(token, '.'), 2) << token;
  if (token.ends_with('\n')) token.pop_back();
  EXPECT_THAT(refused({"--token=" + token, "get", "pods"}),
              HasSubstr("User \"system:serviceaccount:" + ns + ":app\" cannot list resource \"pods\""));
  ok({"create", "role", "reader", "--verb=list", "--resource=pods"});
  ok({"create", "rolebinding", "reader", "--role=reader", "--serviceaccount=" + ns + ":app"});
  EXPECT_EQ(ok({"--token=" + token, "get", "pods", "-o", "name"}), "");
  ok({"delete", "serviceaccount", "app"});
  if (!cluster().local()) return;  // it remembers for some seconds whom it knew
  EXPECT_THAT(refused({"--token=" + token, "get", "pods"}), HasSubstr("Unauthorized"));
}

}  // namespace
}  // namespace kopper::testing
