#include "kopper/api/pods.h"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace kopper::api {
namespace {

corev1::Pod running(std::string name, bool ready = true) {
  corev1::Pod pod;
  pod.metadata.name = std::move(name);
  pod.metadata.creationTimestamp = Time::parse("2026-01-01T00:00:00Z").value();
  pod.spec.nodeName = "node-1";
  pod.status.phase = "Running";
  pod.status.conditions.push_back({.type = "Ready",
                                   .status = ready ? "True" : "False",
                                   .lastTransitionTime = Time::parse("2026-01-01T00:01:00Z").value()});
  return pod;
}

TEST(Pods, CountWhileTheyNeitherEndNorHaveEnded) {
  auto pod = running("a");
  EXPECT_TRUE(is_active(pod));
  pod.status.phase = "Failed";
  EXPECT_FALSE(is_active(pod));
  pod.status.phase = "Succeeded";
  EXPECT_FALSE(is_active(pod));
  pod.status.phase = "Pending";
  EXPECT_TRUE(is_active(pod));
  pod.metadata.deletionTimestamp = Time::parse("2026-01-01T00:00:00Z").value();
  EXPECT_FALSE(is_active(pod));
}

TEST(Pods, AreReadyByTheirCondition) {
  EXPECT_TRUE(is_ready(running("a")));
  EXPECT_FALSE(is_ready(running("a", false)));
  EXPECT_FALSE(is_ready(corev1::Pod()));
}

TEST(Pods, AreAvailableOnceTheyWereReadyForLongEnough) {
  const auto at = [](const char* text) { return Time::parse(text).value(); };
  EXPECT_TRUE(is_available(running("a"), 0, at("2026-01-01T00:01:00Z")));
  EXPECT_FALSE(is_available(running("a"), 10, at("2026-01-01T00:01:09Z")));
  EXPECT_TRUE(is_available(running("a"), 10, at("2026-01-01T00:01:10Z")));
  EXPECT_FALSE(is_available(running("a", false), 0, at("2026-01-01T00:01:10Z")));
}

TEST(Pods, CheapestFirst) {
  auto unassigned = running("unassigned");
  unassigned.spec.nodeName.clear();
  auto pending = running("pending");
  pending.status.phase = "Pending";
  const auto not_ready = running("not-ready", false);
  auto cheap = running("cheap");
  cheap.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "-5";
  auto just_ready = running("just-ready");
  just_ready.status.conditions[0].lastTransitionTime = Time::parse("2026-01-02T00:00:00Z").value();
  auto restarted = running("restarted");
  restarted.status.containerStatuses.push_back({.name = "main", .restartCount = 3});
  auto young = running("young");
  young.metadata.creationTimestamp = Time::parse("2026-01-01T00:00:30Z").value();
  const auto old = running("zold");
  auto dear = running("dear");
  dear.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "10";

  const std::vector<corev1::Pod> expected{unassigned, pending, not_ready, cheap, just_ready,
                                          restarted,  young,   old,       dear};
  std::vector<PodRef> pods;
  for (const auto& pod : expected) pods.push_back(std::make_shared<const corev1::Pod>(pod));
  std::ranges::shuffle(pods, std::mt19937(7));
  cheapest_first(pods);
  for (std::size_t i = 0; i < pods.size(); ++i) EXPECT_EQ(pods[i]->metadata.name, expected[i].metadata.name);
}

TEST(Pods, ADeletionCostThatIsNoNumberIsNone) {
  auto odd = running("a");
  odd.metadata.annotations["controller.kubernetes.io/pod-deletion-cost"] = "12x";
  std::vector<PodRef> pods{std::make_shared<const corev1::Pod>(running("b")), std::make_shared<const corev1::Pod>(odd)};
  cheapest_first(pods);
  EXPECT_EQ(pods[0]->metadata.name, "a");
}

}  // namespace
}  // namespace kopper::api
