#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "types.h"

namespace podset {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

PodSet demo(std::int32_t size) {
  PodSet set;
  set.metadata.name = "demo";
  set.metadata.namespace_ = "default";
  set.metadata.uid = "uid-1";
  set.spec.size = size;
  return set;
}

kopper::Pod running(std::string name) {
  auto pod = desired(demo(1), std::move(name));
  pod.spec.nodeName = "node";
  pod.status.phase = "Running";
  pod.status.conditions.push_back({.type = "Ready", .status = "True"});
  return pod;
}

Pods refs(std::vector<kopper::Pod> pods) {
  Pods out;
  for (auto& pod : pods) out.push_back(std::make_shared<const kopper::Pod>(std::move(pod)));
  return out;
}

TEST(PodSet, SleepsForAnHourInABusybox) {
  const auto pod = desired(demo(1), "demo-a");
  ASSERT_THAT(pod.spec.containers, SizeIs(1));
  EXPECT_EQ(pod.spec.containers[0].image, "busybox");
  EXPECT_THAT(pod.spec.containers[0].command, ElementsAre("sleep", "3600"));
  EXPECT_EQ(pod.metadata.labels, labels_of(demo(1)));
}

TEST(PodSet, StatusNamesThePodsSorted) {
  auto starting = running("c");
  starting.status.conditions.clear();
  auto going = running("x");
  going.metadata.deletionTimestamp = kopper::Time::parse("2026-01-01T00:00:00Z").value();
  const auto status = observed(demo(3), refs({running("b"), starting, going, running("a")}));
  EXPECT_THAT(status.nodes, ElementsAre("a", "b", "c"));
  EXPECT_EQ(status.replicas, 3);
  EXPECT_EQ(status.ready, 2);
  EXPECT_EQ(status.selector, "app=podset,podset_cr=demo");
  EXPECT_FALSE(kopper::api::is_true(status.conditions, "Ready"));
  EXPECT_TRUE(kopper::api::is_true(observed(demo(1), refs({running("a")})).conditions, "Ready"));
}

TEST(PodSet, AFailureIsAConditionThatNamesIt) {
  kopper::Error quota(kopper::Code::Forbidden, "exceeded quota: pods");
  const auto status = observed(demo(3), refs({running("a")}), &quota);
  const auto* degraded = kopper::api::find_condition(status.conditions, "Degraded");
  ASSERT_NE(degraded, nullptr);
  EXPECT_EQ(degraded->status, "True");
  EXPECT_THAT(degraded->message, testing::HasSubstr("exceeded quota"));
  EXPECT_EQ(status.replicas, 1);
}

TEST(PodSet, CrdAsksForASizeThatCanBe) {
  const auto crd = podset().crd();
  const auto& schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  EXPECT_EQ(kopper::json::dump(schema["required"]), R"(["size"])");
  EXPECT_EQ(crd["spec"]["versions"][0]["subresources"]["scale"].text("specReplicasPath"), ".spec.size");
}

}  // namespace
}  // namespace podset
