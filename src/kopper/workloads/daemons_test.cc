#include "kopper/workloads/daemons.h"

#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::PodRef;
using api::appsv1::DaemonSet;
using api::corev1::Node;
using api::corev1::Pod;

api::Time at(int seconds) {
  return api::Time(std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::January / 1 / 2026)) +
                   std::chrono::seconds(seconds));
}

DaemonSet agent() {
  DaemonSet it;
  it.metadata.name = "agent";
  it.metadata.uid = "u1";
  it.spec.template_.metadata.labels = {{"app", "agent"}};
  it.spec.template_.spec.containers.push_back({.name = "main", .image = "v1"});
  it.spec.updateStrategy.type = "RollingUpdate";
  it.spec.updateStrategy.rollingUpdate.emplace().maxUnavailable = 1;
  return it;
}

std::shared_ptr<Node> node(std::string name, std::string taint = "", std::string effect = "") {
  auto it = std::make_shared<Node>();
  it->metadata.name = std::move(name);
  it->metadata.labels["kubernetes.io/hostname"] = it->metadata.name;
  if (!taint.empty()) it->spec.taints.push_back({.key = std::move(taint), .effect = std::move(effect)});
  return it;
}

PodRef pod(const std::string& on, std::string hash = "new", bool ready = true) {
  auto it = std::make_shared<Pod>(new_pod(agent(), on, hash));
  it->spec.nodeName = on;
  it->status.phase = "Running";
  it->status.conditions.push_back({.type = "Ready", .status = ready ? "True" : "False", .lastTransitionTime = at(0)});
  return it;
}

std::string text(const std::vector<PodRef>& pods) {
  std::string out;
  for (const auto& one : pods) out += target_node(*one) + " ";
  return out;
}

TEST(Daemons, FitNodes) {
  EXPECT_TRUE(fit(agent(), *node("a")).runs);
  auto selecting = agent();
  selecting.spec.template_.spec.nodeSelector["disk"] = "ssd";
  EXPECT_FALSE(fit(selecting, *node("a")).stays);
  EXPECT_FALSE(fit(agent(), *node("a", "mine", "NoSchedule")).runs);
  EXPECT_TRUE(fit(agent(), *node("a", "mine", "NoSchedule")).stays) << "who is there stays";
  EXPECT_FALSE(fit(agent(), *node("a", "mine", "NoExecute")).stays);
  EXPECT_TRUE(fit(agent(), *node("a", "mine", "PreferNoSchedule")).runs);
  EXPECT_TRUE(fit(agent(), *node("a", "node.kubernetes.io/unreachable", "NoExecute")).runs) << "borne by daemons";
  EXPECT_TRUE(fit(agent(), *node("a", "node.kubernetes.io/unschedulable", "NoSchedule")).runs);
  EXPECT_FALSE(fit(agent(), *node("a", "node.kubernetes.io/network-unavailable", "NoSchedule")).runs);
  auto host = agent();
  host.spec.template_.spec.hostNetwork = true;
  EXPECT_TRUE(fit(host, *node("a", "node.kubernetes.io/network-unavailable", "NoSchedule")).runs);
}

TEST(Daemons, APodIsForItsNodeOnly) {
  const auto it = new_pod(agent(), "a", "x");
  EXPECT_EQ(target_node(it), "a");
  EXPECT_TRUE(node_selected(it, *node("a")));
  EXPECT_FALSE(node_selected(it, *node("b")));
  EXPECT_EQ(it.metadata.name, new_pod(agent(), "a", "y").metadata.name) << "never a second one";
  EXPECT_NE(it.metadata.name, new_pod(agent(), "b", "x").metadata.name);
}

TEST(Daemons, OneOnEachNode) {
  auto going = std::make_shared<Pod>(*pod("c"));
  going->metadata.deletionTimestamp = at(0);
  auto second = std::make_shared<Pod>(*pod("b"));
  second->metadata.creationTimestamp = at(1);
  auto failed = std::make_shared<Pod>(*pod("e"));
  failed->status.phase = "Failed";
  auto unborn = std::make_shared<Pod>(new_pod(agent(), "gone", "new"));
  const auto plan = plan_daemons(agent(), {node("a"), node("b"), node("c"), node("d", "x", "NoExecute"), node("e")},
                                 {pod("b"), second, going, pod("d"), failed, unborn});
  EXPECT_EQ(plan.create, std::vector<std::string>{"a"}) << "the one of c is not gone yet";
  EXPECT_EQ(text(plan.remove), "b d gone ");
  EXPECT_EQ(plan.remove[0], second);
  EXPECT_EQ(text(plan.ended), "e ");
}

TEST(Daemons, AreUpdatedAsFewAsMayBeMissed) {
  const std::vector<NodeRef> nodes{node("a"), node("b"), node("c"), node("d")};
  const auto next = [&](const DaemonSet& set, std::vector<PodRef> pods) {
    return text(outdated(set, nodes, pods, "new", at(0)));
  };
  EXPECT_EQ(next(agent(), {pod("a", "old"), pod("b", "old"), pod("c", "old"), pod("d", "old")}), "a ");
  EXPECT_EQ(next(agent(), {pod("b", "old"), pod("c", "old"), pod("d", "old")}), "") << "one is missed";
  EXPECT_EQ(next(agent(), {pod("a", "new", false), pod("b", "old"), pod("c"), pod("d")}), "");
  EXPECT_EQ(next(agent(), {pod("a"), pod("b", "old", false), pod("c", "old", false), pod("d", "old")}), "b c ")
      << "those that do not serve are no loss";
  auto half = agent();
  half.spec.updateStrategy.rollingUpdate->maxUnavailable = "50%";
  EXPECT_EQ(next(half, {pod("a", "old"), pod("b", "old"), pod("c", "old"), pod("d", "old")}), "a b ");
}

TEST(Daemons, Status) {
  const auto status = observed(agent(), {node("a"), node("b"), node("c"), node("d", "x", "NoSchedule")},
                               {pod("a"), pod("b", "old", false), pod("d")}, "new", at(0));
  EXPECT_EQ(status.desiredNumberScheduled, 3);
  EXPECT_EQ(status.currentNumberScheduled, 2);
  EXPECT_EQ(status.numberMisscheduled, 1);
  EXPECT_EQ(status.numberReady, 1);
  EXPECT_EQ(status.numberAvailable, 1);
  EXPECT_EQ(status.numberUnavailable, 2);
  EXPECT_EQ(status.updatedNumberScheduled, 1);
}

}  // namespace
}  // namespace kopper::workloads
