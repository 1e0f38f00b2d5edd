// The operator in a cluster of its own, on a clock that the test moves (kopper/testing/README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/log.h"
#include "kopper/rt/file.h"
#include "kopper/testing/cluster.h"

#include "types.h"

namespace memcached {
namespace {

using namespace std::chrono_literals;
using kopper::Deployment;
using kopper::plane::FaultEffect;
using testing::IsEmpty;
using testing::SizeIs;

bool is_right(const Deployment& it) {
  const auto& containers = it.spec.template_.spec.containers;
  return it.spec.replicas == 3 && containers.size() == 1 && containers[0].image == "memcached:1.6-alpine";
}
void drift(Deployment& it) {
  it.spec.replicas = 7;
  it.spec.template_.spec.containers.at(0).image = "evil:1";
}

struct MemcachedInCluster : testing::Test {
  // The sample, and all that follows from it.
  MemcachedInCluster() {
    kopper::log::configure(
        {.level = kopper::log::Level::Error, .format = kopper::log::Format::Human, .sink = [](std::string_view) {}});
    cluster.apply(kopper::rt::read_file(KOPPER_SOURCE_DIR "/operators/memcached/samples/memcached.yaml"));
    cluster.until<Memcached>("demo", [](const Memcached& it) { return !it.status.conditions.empty(); });
  }
  ~MemcachedInCluster() override { kopper::log::configure(kopper::log::Options()); }

  void expect_drift_is_reverted() {
    cluster.modify<Deployment>("demo", drift);
    cluster.until<Deployment>("demo", is_right);
    EXPECT_THAT(cluster.faults().rules(), IsEmpty()) << "all that was to go wrong did";
  }

  kopper::testing::Cluster cluster{memcached()};
};

TEST_F(MemcachedInCluster, MakesADeploymentAndTellsOfIt) {
  const auto made = cluster.get<Deployment>("demo");
  EXPECT_TRUE(is_right(made));
  EXPECT_EQ(made.spec.template_.spec.containers[0].ports.at(0).containerPort, 11211);
  EXPECT_TRUE(kopper::api::is_controlled_by(made.metadata, cluster.get<Memcached>("demo").metadata.uid));
  EXPECT_THAT(cluster.writes(), SizeIs(2)) << "the Deployment and the status";

  cluster.set_status<Deployment>("demo", [](Deployment& it) {
    it.status.observedGeneration = it.metadata.generation;
    it.status.replicas = it.status.updatedReplicas = it.status.readyReplicas = it.status.availableReplicas = 3;
  });
  const auto served = cluster.until<Memcached>("demo", [](const Memcached& it) { return it.status.ready == 3; });
  EXPECT_TRUE(kopper::api::is_true(served.status.conditions, "Available"));
}

TEST_F(MemcachedInCluster, PutsBackWhatOthersChange) {
  cluster.modify<Deployment>("demo", [](Deployment& it) { it.metadata.labels["team"] = "a"; });
  expect_drift_is_reverted();
  EXPECT_EQ(cluster.get<Deployment>("demo").metadata.labels.at("team"), "a");
}

TEST_F(MemcachedInCluster, SecondPassWritesNothing) {
  (void)cluster.writes();
  cluster.advance(11h);
  EXPECT_THAT(cluster.writes(), IsEmpty());
  cluster.restart();
  EXPECT_THAT(cluster.writes(), IsEmpty()) << "another process";
}

TEST_F(MemcachedInCluster, SurvivesConflictsAndThrottling) {
  cluster.faults().add({.match = {.verbs = {"patch"}, .resource = "deployments"}, .status = 409, .times = 3});
  cluster.faults().add(
      {.match = {.verbs = {"patch"}, .resource = "deployments"}, .status = 429, .retryAfterSeconds = 7, .times = 2});
  const auto before = cluster.loop().now();
  expect_drift_is_reverted();
  EXPECT_GE(cluster.loop().now() - before, 14s) << "it waits as long as it is told";
}

TEST_F(MemcachedInCluster, SurvivesLostAnswers) {
  cluster.faults().add(
      {.match = {.verbs = {"patch"}, .resource = "deployments"}, .effect = FaultEffect::Lose, .times = 1});
  expect_drift_is_reverted();
}

TEST_F(MemcachedInCluster, SurvivesDroppedWatchesAndLostHistory) {
  cluster.faults().add({.effect = FaultEffect::HangUp, .onlyOpen = true});
  cluster.faults().add({.match = {.verbs = {"watch"}}, .effect = FaultEffect::Expire, .times = 3});
  expect_drift_is_reverted();
}

TEST_F(MemcachedInCluster, DeploymentGoesWithIt) {
  cluster.remove<Memcached>("demo");
  cluster.until("the Deployment is gone", [&] { return !cluster.find<Deployment>("demo"); });
  EXPECT_THAT(cluster.list<Memcached>(), IsEmpty());
}

// What --print-rbac prints is enough for all it does.
TEST(MemcachedRoles, Suffice) {
  kopper::Program program;
  program.name = "memcached";
  program.controllers = {memcached()};
  kopper::app::Flags flags;
  flags.print = kopper::app::Print::Rbac;
  kopper::testing::ClusterOptions options;
  options.user = "system:serviceaccount:operator-system:memcached";
  options.objects = "{apiVersion: v1, kind: Namespace, metadata: {name: operator-system}}\n---\n" +
                    kopper::app::printed(program, flags);
  kopper::testing::Cluster cluster({memcached()}, options);
  cluster.apply("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: demo}, spec: {size: 3}}");
  cluster.until<Memcached>("demo", [](const Memcached& it) { return !it.status.conditions.empty(); });
  for (const auto& request : cluster.requests()) EXPECT_NE(request.status, 403) << request.str();
}

}  // namespace
}  // namespace memcached
