// The harness itself: a server of the version we asked for, its users, and the two ways to expire a watch.
#include <gmock/gmock.h>

#include "real/cluster.h"

namespace kopper::testing {
namespace {

using ::testing::HasSubstr;

TEST(RealServer, IsTheVersionWeAskedFor) {
  const auto version = cluster().kubectl({"get", "--raw", "/version"});
  EXPECT_EQ(version.exit, 0) << version.err;
  EXPECT_THAT(version.out, HasSubstr("\"gitVersion\": \"" + cluster().version() + "\""));
}

TEST(RealServer, KnowsItsUsers) {
  KOPPER_NEEDS_MINOR(28, "SelfSubjectReview");
  const std::string question = R"({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})";
  const std::pair<std::string, std::string> users[] = {
      {"token", "token-admin"}, {"cert", "cert-admin"}, {"rotating", "rotating-admin"}};
  for (const auto& [context, user] : users) {
    const auto answer = cluster().kubectl({"--context=" + context, "create", "-f", "-", "-o", "yaml"}, question);
    EXPECT_THAT(answer.out, HasSubstr("username: " + user)) << answer.err;
  }
  const auto denied = cluster().kubectl({"--token=" + cluster().nobody_token(), "get", "pods"});
  EXPECT_NE(denied.exit, 0);
}

TEST(RealServer, ExpiresACompactedRevision) {
  auto& c = cluster();
  const std::string object = R"({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "smoke"},
    "template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}})";
  const auto created = c.kubectl({"create", "-f", "-", "-o", "jsonpath={.metadata.resourceVersion}"}, object);
  ASSERT_EQ(created.exit, 0) << created.err;
  EXPECT_GT(c.compact_etcd(), std::stoll(created.out));
  const auto path = "/api/v1/podtemplates?watch=1&timeoutSeconds=1&resourceVersion=" + created.out;
  EXPECT_THAT(c.kubectl({"get", "--raw", path}).out, HasSubstr("\"code\":410"));
}

TEST(RealServer, KeepsItsDataOverARestart) {
  auto& c = cluster();
  ASSERT_EQ(c.kubectl({"create", "configmap", "kept"}).exit, 0);
  c.restart_apiserver();
  EXPECT_EQ(c.kubectl({"get", "configmap", "kept", "-o", "name"}).out, "configmap/kept\n");
}

}  // namespace
}  // namespace kopper::testing
