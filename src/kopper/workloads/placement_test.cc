#include "kopper/workloads/placement.h"

#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::PodRef;
using api::corev1::Node;
using api::corev1::Pod;
using api::corev1::PodAffinityTerm;

std::shared_ptr<Node> node(std::string name, const char* cpu = "4") {
  auto it = std::make_shared<Node>();
  it->metadata.name = name;
  it->metadata.labels = {{"kubernetes.io/hostname", name}};
  it->status.allocatable = {{"cpu", cpu}, {"memory", "8Gi"}, {"pods", 10}};
  return it;
}

Pod pod(std::string app = "web", const char* cpu = "100m") {
  Pod it;
  it.metadata.namespace_ = "default";
  it.metadata.labels = {{"app", std::move(app)}};
  auto& container = it.spec.containers.emplace_back();
  container.name = "main";
  container.resources.requests = {{"cpu", cpu}};
  return it;
}

PodRef on(std::string where, Pod it = pod()) {
  it.spec.nodeName = std::move(where);
  return std::make_shared<const Pod>(std::move(it));
}

PodAffinityTerm with(std::string app) {
  PodAffinityTerm term;
  term.topologyKey = "kubernetes.io/hostname";
  term.labelSelector.emplace().matchLabels = {{"app", std::move(app)}};
  return term;
}

TEST(Placement, GoesToTheEmptiest) {
  EXPECT_EQ(place(pod(), {node("a"), node("b")}, {}).node, "a");
  EXPECT_EQ(place(pod(), {node("a"), node("b")}, {on("a")}).node, "b");
  EXPECT_EQ(place(pod(), {node("a", "8"), node("b", "2")}, {on("a"), on("b")}).node, "a");
}

TEST(Placement, PodsThatEndedTakeNoRoom) {
  auto done = pod("web", "4");
  done.status.phase = "Succeeded";
  EXPECT_EQ(place(pod("web", "4"), {node("a")}, {on("a", done)}).node, "a");
}

TEST(Placement, SaysWhyNoneFits) {
  auto cordoned = node("b");
  cordoned->spec.unschedulable = true;
  auto tainted = node("c");
  tainted->spec.taints.push_back({.key = "gpu", .effect = "NoSchedule"});
  const auto none = place(pod("web", "5"), {node("a"), cordoned, tainted}, {});
  EXPECT_EQ(none.node, "");
  EXPECT_EQ(
      none.reason,
      "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable.");
  EXPECT_EQ(place(pod(), {}, {}).reason, "0/0 nodes are available.");
}

TEST(Placement, CountsPods) {
  std::vector<PodRef> ten;
  for (int i = 0; i < 10; ++i) ten.push_back(on("a", pod("web", "1m")));
  EXPECT_EQ(place(pod(), {node("a")}, ten).reason, "0/1 nodes are available: 1 Too many pods.");
}

TEST(Placement, SelectorsAndNodeAffinity) {
  auto ssd = node("b");
  ssd->metadata.labels["disk"] = "ssd";
  ssd->metadata.labels["size"] = "20";
  auto wants = pod();
  wants.spec.nodeSelector = {{"disk", "ssd"}};
  EXPECT_EQ(place(wants, {node("a"), ssd}, {on("b")}).node, "b");
  EXPECT_EQ(place(wants, {node("a")}, {}).reason,
            "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.");
  auto by_rule = pod();
  auto& term = by_rule.spec.affinity.emplace()
                   .nodeAffinity.emplace()
                   .requiredDuringSchedulingIgnoredDuringExecution.emplace()
                   .nodeSelectorTerms.emplace_back();
  term.matchExpressions.push_back({"size", "Gt", {"10"}});
  EXPECT_EQ(place(by_rule, {node("a"), ssd}, {on("b")}).node, "b");
  term.matchExpressions = {{"disk", "DoesNotExist", {}}};
  EXPECT_EQ(place(by_rule, {node("a"), ssd}, {on("a")}).node, "a");
}

TEST(Placement, TolerationsLetIn) {
  auto tainted = node("a");
  tainted->spec.taints.push_back({.key = "gpu", .value = "yes", .effect = "NoSchedule"});
  auto it = pod();
  it.spec.tolerations.push_back({.key = "gpu", .operator_ = "Equal", .value = "no"});
  EXPECT_EQ(place(it, {tainted}, {}).node, "");
  it.spec.tolerations[0].value = "yes";
  EXPECT_EQ(place(it, {tainted}, {}).node, "a");
  it.spec.tolerations = {{.operator_ = "Exists"}};
  EXPECT_EQ(place(it, {tainted}, {}).node, "a");
}

TEST(Placement, AntiAffinitySpreadsAndBindsBothWays) {
  auto apart = pod();
  apart.spec.affinity.emplace().podAntiAffinity.emplace().requiredDuringSchedulingIgnoredDuringExecution = {
      with("web")};
  const std::vector<NodeRef> nodes{node("a", "8"), node("b")};
  EXPECT_EQ(place(apart, nodes, {on("a")}).node, "b");
  EXPECT_EQ(place(apart, nodes, {on("a"), on("b")}).reason,
            "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.");
  EXPECT_EQ(place(pod(), {node("a")}, {on("a", apart)}).node, "") << "the one that is there wants to be alone";
  EXPECT_EQ(place(pod("db"), {node("a")}, {on("a", apart)}).node, "a");
}

TEST(Placement, AffinityFollowsAndTheFirstMayGoAnywhere) {
  auto close = pod("db");
  close.spec.affinity.emplace().podAffinity.emplace().requiredDuringSchedulingIgnoredDuringExecution = {with("web")};
  EXPECT_EQ(place(close, {node("a"), node("b")}, {on("b")}).node, "b");
  EXPECT_EQ(place(close, {node("a")}, {}).node, "");
  auto first = pod("web");
  first.spec.affinity = close.spec.affinity;
  EXPECT_EQ(place(first, {node("a")}, {}).node, "a");
}

TEST(Placement, PreferencesDecideAmongThoseThatFit) {
  auto it = pod();
  auto& weighted = it.spec.affinity.emplace()
                       .podAntiAffinity.emplace()
                       .preferredDuringSchedulingIgnoredDuringExecution.emplace_back();
  weighted.weight = 10;
  weighted.podAffinityTerm = with("web");
  EXPECT_EQ(place(it, {node("a", "64"), node("b", "1")}, {on("a")}).node, "b");
}

TEST(Placement, SpreadConstraints) {
  auto it = pod();
  auto& rule = it.spec.topologySpreadConstraints.emplace_back();
  rule.maxSkew = 1;
  rule.topologyKey = "kubernetes.io/hostname";
  rule.whenUnsatisfiable = "DoNotSchedule";
  rule.labelSelector.emplace().matchLabels = {{"app", "web"}};
  EXPECT_EQ(place(it, {node("a", "64"), node("b", "1")}, {on("a")}).node, "b");
}

TEST(Placement, RequestsAreTheLargerOfInitAndAll) {
  auto it = pod("web", "100m");
  it.spec.containers.push_back(it.spec.containers[0]);
  it.spec.initContainers.push_back(it.spec.containers[0]);
  it.spec.initContainers[0].resources.requests = {{"cpu", "1"}, {"memory", "1Gi"}};
  EXPECT_EQ(requests_of(it).at("cpu"), api::Quantity("1"));
  EXPECT_EQ(requests_of(it).at("memory"), api::Quantity("1Gi"));
  it.spec.initContainers[0].restartPolicy = "Always";
  EXPECT_EQ(requests_of(it).at("cpu"), api::Quantity("1200m")) << "a sidecar stays";
}

}  // namespace
}  // namespace kopper::workloads
