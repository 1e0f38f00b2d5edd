#include "local/up.h"

// Bad specs are refused by name, and a cluster that runs does not notice.
namespace kopper::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class UpRedisSpecs : public Up {
 protected:
  static std::string cluster(const std::string& spec) {
    return "apiVersion: redis.middleware.hc.cn/v1alpha1\nkind: RedisCluster\nmetadata: {name: specs}\nspec: {" + spec +
           "}\n";
  }
  std::string refused_patch(const std::string& spec) {
    return refused({"patch", "rediscluster/specs", "--type=merge", "-p", R"({"spec":{)" + spec + "}}"});
  }
  // With eight pods, one master more.
  std::string refused_assignment(const std::string& list) {
    return refused_patch(R"("replicas":8,"updateStrategy":{"type":"AssignReceive","assignStrategies":)" + list + "}");
  }
};

TEST_F(UpRedisSpecs, AreRefusedByTheFieldBeforeThereIsACluster) {
  const auto create = [&](const std::string& spec) { return refused({"create", "-f", "-"}, cluster(spec)); };
  const std::string rest = "repository: redis, pod: [{}]";
  EXPECT_THAT(create("replicas: 7, " + rest), HasSubstr("spec.replicas"));
  EXPECT_THAT(create("replicas: 4, " + rest), HasSubstr("spec.replicas"));
  EXPECT_THAT(create("replicas: 8, replicasPerMaster: 2, " + rest), HasSubstr("spec.replicas"));
  EXPECT_THAT(create("replicas: 6, repository: redis"), HasSubstr("spec.pod"));
  EXPECT_THAT(create("replicas: 6, repository: redis, pod: []"), HasSubstr("spec.pod"));
  EXPECT_THAT(create("replicas: 6, pod: [{}]"), HasSubstr("spec.repository"));
  EXPECT_THAT(create("replicas: 6, version: 'a b', " + rest), HasSubstr("spec.version"));
  EXPECT_THAT(create("replicas: 6, finalizers: never, " + rest), HasSubstr("spec.finalizers"));
  EXPECT_THAT(create("replicas: 6, updateStrategy: {type: Rebalance}, " + rest), HasSubstr("spec.updateStrategy.type"));
  EXPECT_THAT(create("replicas: 6, updateStrategy: {pipeline: abc}, " + rest),
              HasSubstr("spec.updateStrategy.pipeline"));
  EXPECT_THAT(create("replicas: 6, updateStrategy: {assignStrategies: [{slots: 0, fromReplicas: a}]}, " + rest),
              HasSubstr("spec.updateStrategy.assignStrategies[0].slots"));
  EXPECT_THAT(create("replicas: 6, auth: {secretName: specs-auth}, " + rest), HasSubstr("spec.auth.secretName"));
  EXPECT_THAT(create("replicas: 6, repository: redis, pod: [{labels: {app: other}}]"), HasSubstr("spec.pod[0].labels"));
}

TEST_F(UpRedisSpecs, AreRefusedByTheFieldAndTheClusterGoesOn) {
  ok({"create", "-f", "-"}, cluster("replicas: 6, repository: redis, version: '7', storage: {size: 64Mi}, pod: [{}]"));
  wait("rediscluster/specs", "condition=Ready");
  const auto master = field("rediscluster/specs", ".status.conditions[?(@.slots==\"0-5460\")].nodeId");
  const auto replica = field("rediscluster/specs", ".status.conditions[?(@.masterNodeId==\"" + master + "\")].nodeId");
  ASSERT_EQ(master.size(), 40U);
  ASSERT_EQ(replica.size(), 40U);
  const auto before = field("rediscluster/specs", ".metadata.generation");

  const auto from = [](const std::string& slots, const std::string& ids) {
    return "{\"slots\":" + slots + R"(,"fromReplicas":")" + ids + "\"}";
  };
  const std::string first = "spec.updateStrategy.assignStrategies[0]";
  EXPECT_THAT(refused_patch(R"("replicas":7)"), HasSubstr("spec.replicas"));
  EXPECT_THAT(refused({"scale", "rediscluster/specs", "--replicas=5"}), HasSubstr("spec.replicas"));
  EXPECT_THAT(refused_patch(R"("pod":[])"), HasSubstr("spec.pod"));
  EXPECT_THAT(refused_patch(R"("storage":{"size":"32Mi"})"), HasSubstr("spec.storage.size"));
  EXPECT_THAT(refused_patch(R"("storage":null)"), HasSubstr("spec.storage"));
  EXPECT_THAT(refused_patch(R"("tls":{"secretName":"certs"})"), HasSubstr("spec.tls"));
  EXPECT_THAT(refused_assignment("[]"), HasSubstr("spec.updateStrategy.assignStrategies: 0 for 1 new master"));
  EXPECT_THAT(refused_assignment("[" + from("1", master) + "," + from("1", master) + "]"),
              HasSubstr("spec.updateStrategy.assignStrategies: 2 for 1 new master"));
  EXPECT_THAT(refused_assignment("[" + from("10", master + ",nobody") + "]"),
              AllOf(HasSubstr(first + ".fromReplicas"), HasSubstr("nobody")));
  EXPECT_THAT(refused_assignment("[" + from("10", replica) + "]"), HasSubstr(first + ".fromReplicas"));
  EXPECT_THAT(refused_assignment("[" + from("6000", master) + "]"), HasSubstr(first + ".slots"));
  EXPECT_THAT(refused_assignment("[" + from("5461", master) + "]"), HasSubstr(first + ".slots"));

  EXPECT_EQ(field("rediscluster/specs", ".metadata.generation"), before);
  EXPECT_EQ(field("rediscluster/specs", ".status.phase"), "Running");
  EXPECT_EQ(field("statefulset/specs", ".spec.replicas"), "6");
  // What says nothing of the spec is let through.
  ok({"label", "rediscluster/specs", "seen=yes"});
  ok({"delete", "rediscluster/specs", "--timeout=90s"});
}

}  // namespace
}  // namespace kopper::testing
