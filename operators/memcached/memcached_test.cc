#include <gtest/gtest.h>

#include "types.h"

namespace memcached {
namespace {

Memcached demo(std::int32_t size) {
  Memcached mc;
  mc.metadata.name = "demo";
  mc.metadata.namespace_ = "default";
  mc.spec.size = size;
  return mc;
}

kopper::Deployment live(const Memcached& mc, std::int32_t replicas, std::int32_t available) {
  auto deployment = desired(mc);
  deployment.metadata.generation = 2;
  deployment.status.observedGeneration = 2;
  deployment.status.replicas = deployment.status.updatedReplicas = replicas;
  deployment.status.readyReplicas = deployment.status.availableReplicas = available;
  return deployment;
}

std::shared_ptr<const kopper::Pod> pod(std::string name, bool deleting = false) {
  auto pod = std::make_shared<kopper::Pod>();
  pod->metadata.name = std::move(name);
  if (deleting) pod->metadata.deletionTimestamp = kopper::Time::parse("2026-01-01T00:00:00Z").value();
  return pod;
}

TEST(Memcached, DesiredDeploymentSelectsItsOwnPodsOnly) {
  auto other = demo(1);
  other.metadata.name = "other";
  const auto deployment = desired(demo(3));
  EXPECT_EQ(deployment.spec.replicas, 3);
  EXPECT_EQ(deployment.spec.selector.matchLabels, deployment.spec.template_.metadata.labels);
  EXPECT_NE(deployment.spec.selector.matchLabels, desired(other).spec.selector.matchLabels);
  EXPECT_EQ(deployment.spec.template_.spec.containers.at(0).command,
            (std::vector<std::string>{"memcached", "-m", "64", "-o", "modern", "-v"}));
}

TEST(Memcached, NodesAreSortedAndWithoutThoseThatGo) {
  const auto mc = demo(2);
  const auto status = observed(mc, live(mc, 2, 2), {pod("b"), pod("c", true), pod("a")});
  EXPECT_EQ(status.nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(status.selector, "app=memcached,memcached_cr=demo");
}

TEST(Memcached, ConditionsTellHowFarItIs) {
  const auto mc = demo(3);
  using kopper::api::is_true;
  const auto starting = observed(mc, live(mc, 3, 1), {}).conditions;
  EXPECT_FALSE(is_true(starting, "Available"));
  EXPECT_TRUE(is_true(starting, "Progressing"));
  const auto done = observed(mc, live(mc, 3, 3), {}).conditions;
  EXPECT_TRUE(is_true(done, "Available"));
  EXPECT_FALSE(is_true(done, "Progressing"));
  EXPECT_FALSE(is_true(done, "Degraded"));
  auto refused = live(mc, 0, 0);
  refused.status.conditions.push_back({.type = "ReplicaFailure", .status = "True", .message = "quota exceeded"});
  const auto degraded = observed(mc, refused, {}).conditions;
  EXPECT_TRUE(is_true(degraded, "Degraded"));
  EXPECT_EQ(kopper::api::find_condition(degraded, "Degraded")->message, "quota exceeded");
}

TEST(Memcached, CrdHasScaleAndColumns) {
  const auto crd = memcached().crd();
  const auto& version = crd["spec"]["versions"][0];
  EXPECT_EQ(version["subresources"]["scale"].text("specReplicasPath"), ".spec.size");
  EXPECT_TRUE(version["subresources"]["status"].is_object());
  EXPECT_EQ(version["additionalPrinterColumns"].as_array()->size(), 5U);
}

}  // namespace
}  // namespace memcached
