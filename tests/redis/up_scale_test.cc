#include "redis/redis_up.h"

// RedisClusters by the operator inside of `kopper up`.
namespace redis::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RedisScale : public RedisUp {};

TEST_F(RedisScale, SixPodsBecomeACluster) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  const auto all = addresses();
  EXPECT_EQ(run_program({"redis-cli", "-c", "-h", all[1], "set", "metal", "copper"}).out, "OK\n");
  EXPECT_EQ(run_program({"redis-cli", "-c", "-h", all[4], "get", "metal"}).out, "copper\n");
  EXPECT_THAT(slot_counts(), ElementsAre(5461, 5461, 5462));
}

TEST_F(RedisScale, ItGrowsAndShrinksUnderLoad) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  write();
  change("\"replicas\":8");
  ASSERT_NO_FATAL_FAILURE(settle(8));
  EXPECT_THAT(slot_counts(), ElementsAre(4096, 4096, 4096, 4096));
  change("\"replicas\":6");
  ASSERT_NO_FATAL_FAILURE(settle(6));
  EXPECT_THAT(slot_counts(), ElementsAre(5461, 5461, 5462));
  verify();
}

TEST_F(RedisScale, BadSpecsAreRefusedByFieldAndTheClusterIsUntouched) {
  ASSERT_NO_FATAL_FAILURE(have(6));
  const std::string before = ok({"get", "statefulset", "rc", "-o", "jsonpath={.metadata.generation}"});
  const std::string id = nodes().front().id;
  const auto bad = [&](const std::string& spec, const std::string& field) {
    EXPECT_THAT(refused({"patch", "rec", "rc", "--type=merge", "-p", "{\"spec\":{" + spec + "}}"}), HasSubstr(field))
        << spec;
  };
  const auto assign = [](const std::string& strategies) {
    return R"("replicas":8,"updateStrategy":{"type":"AssignReceive","assignStrategies":[)" + strategies + "]}";
  };
  bad("\"replicas\":7", "spec.replicas");
  bad("\"replicas\":4", "spec.replicas");
  bad("\"pod\":[]", "spec.pod");
  bad("\"updateStrategy\":{\"type\":\"Guess\"}", "spec.updateStrategy.type");
  bad("\"updateStrategy\":{\"pipeline\":\"abc\"}", "spec.updateStrategy.pipeline");
  bad(assign(""), "spec.updateStrategy.assignStrategies");
  bad(assign(R"({"slots":10,"fromReplicas":"nobody"})"), "spec.updateStrategy.assignStrategies[0].fromReplicas");
  std::string master;
  for (const NodeSeen& node : nodes())
    if (node.slots.any()) master = node.id;
  bad(assign(R"({"slots":9000,"fromReplicas":")" + master + "\"}"), "spec.updateStrategy.assignStrategies[0]");
  EXPECT_EQ(ok({"get", "statefulset", "rc", "-o", "jsonpath={.metadata.generation}"}), before);
  ASSERT_NO_FATAL_FAILURE(settle(6));
}

}  // namespace
}  // namespace redis::testing
