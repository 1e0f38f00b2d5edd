// Disruption budgets and evictions on a whole cluster in this process.
#include "kopper/workloads/disruption_budget.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/policy_v1.h"
#include "kopper/api/names.h"
#include "kopper/client/raw_api.h"
#include "kopper/testing/cluster.h"
#include "kopper/workloads/replica_set.h"
#include "kopper/workloads/stateful_set.h"

#include "playing_node.h"

namespace kopper::testing {
namespace {

using namespace std::chrono_literals;
using api::policyv1::PodDisruptionBudget;

struct DisruptionBudgets : ::testing::Test {
  void apply(std::string_view limit) {
    cluster.apply(
        fmt::format("{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: web}}, spec: {{{}, "
                    "selector: {{matchLabels: {{app: web}}}}}}}}",
                    limit));
  }
  void add_set(std::int32_t replicas) {
    cluster.apply(fmt::format(
        "{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: web}}, spec: {{replicas: {}, selector: "
        "{{matchLabels: "
        "{{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{nodeName: here, containers: [{{name: "
        "main, image: v1}}]}}}}}}}}",
        replicas));
  }
  void until_allowed(std::int32_t count) {
    cluster.until<PodDisruptionBudget>("web", [&](const PodDisruptionBudget& it) {
      return it.status.observedGeneration == it.metadata.generation && it.status.disruptionsAllowed == count;
    });
  }
  // How the server answers.
  int evict(const std::string& pod) {
    client::WriteOptions options;
    options.subresource = "eviction";
    const client::RawApi api(cluster.client(), client::resource_of<Pod>());
    try {
      cluster.run(api.create(
          {"default", pod},
          fmt::format(R"({{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{}"}}}})", pod), options));
      return 201;
    } catch (const Error& error) {
      return error.http_status;
    }
  }
  // Nobody takes the place of those that go.
  void stop_replacing() {
    cluster.modify<api::appsv1::ReplicaSet>(
        "web", [](api::appsv1::ReplicaSet& it) { it.metadata.annotations["kopper.dev/paused"] = "true"; });
    cluster.settle();
  }
  std::vector<std::string> pods() {
    std::vector<std::string> names;
    for (const auto& pod : cluster.list<Pod>()) {
      if (!api::is_deleting(pod)) names.push_back(pod.metadata.name);
    }
    return names;
  }

  Cluster cluster{workloads::disruption_budget(), workloads::replica_set(), playing_node()};
};

TEST_F(DisruptionBudgets, LetEvictionsGoOneByOne) {
  add_set(3);
  apply("maxUnavailable: 1");
  until_allowed(1);
  stop_replacing();
  const auto names = pods();
  EXPECT_EQ(evict(names[0]), 201);
  EXPECT_EQ(evict(names[1]), 429);
  cluster.modify<api::appsv1::ReplicaSet>("web", [](api::appsv1::ReplicaSet& it) { it.metadata.annotations.clear(); });
  until_allowed(1);
  EXPECT_EQ(evict(names[1]), 201) << "another one took its place";
}

TEST_F(DisruptionBudgets, CountWhatOwnersWant) {
  apply("minAvailable: 50%");
  add_set(4);
  until_allowed(2);
  const auto budget = cluster.get<PodDisruptionBudget>("web");
  EXPECT_EQ(budget.status.expectedPods, 4);
  EXPECT_EQ(budget.status.desiredHealthy, 2);
  EXPECT_EQ(budget.status.currentHealthy, 4);
  EXPECT_TRUE(api::is_true(budget.status.conditions, "DisruptionAllowed"));
  add_set(8);
  until_allowed(4);
  apply("minAvailable: null, maxUnavailable: 25%");
  until_allowed(2);
}

TEST_F(DisruptionBudgets, NeverSpendMoreThanTheyHave) {
  add_set(6);
  apply("minAvailable: 4");
  until_allowed(2);
  stop_replacing();
  int gone = 0;
  for (const auto& name : pods()) gone += evict(name) == 201 ? 1 : 0;
  EXPECT_EQ(gone, 2) << "none was replaced yet";
}

TEST_F(DisruptionBudgets, SayWhenNobodyKnowsTheScale) {
  cluster.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: owner}}");
  const auto owner = cluster.get<ConfigMap>("owner");
  cluster.apply(
      fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: lonely, labels: {{app: web}}, "
                  "ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {}, "
                  "controller: true}}]}}, spec: {{containers: [{{name: main, image: x}}]}}}}",
                  owner.metadata.uid));
  apply("maxUnavailable: 1");
  cluster.until<PodDisruptionBudget>("web", [](const PodDisruptionBudget& it) {
    const auto* condition = api::find_condition(it.status.conditions, "DisruptionAllowed");
    return condition != nullptr && condition->reason == "SyncFailed" &&
           condition->message.starts_with("the scale of ConfigMap owner: ");
  });
}

TEST_F(DisruptionBudgets, AnEvictionThatCameToNothingIsForgotten) {
  add_set(3);
  apply("minAvailable: 2");
  until_allowed(1);
  const auto name = pods()[0];
  cluster.set_status<PodDisruptionBudget>(
      "web", [&](PodDisruptionBudget& it) { it.status.disruptedPods[name] = api::Time(cluster.loop().wall_now()); });
  until_allowed(0);
  cluster.advance(3min);
  until_allowed(1);
  EXPECT_TRUE(cluster.get<PodDisruptionBudget>("web").status.disruptedPods.empty());
}

}  // namespace
}  // namespace kopper::testing
