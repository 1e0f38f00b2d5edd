#include "kopper/workloads/ordinals.h"

#include <chrono>

#include <gtest/gtest.h>

#include "kopper/workloads/revisions.h"

namespace kopper::workloads {
namespace {

using api::PodRef;
using api::appsv1::ControllerRevision;
using api::appsv1::StatefulSet;
using api::corev1::PersistentVolumeClaim;
using api::corev1::Pod;

api::Time at(int seconds) {
  return api::Time(std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::January / 1 / 2026)) +
                   std::chrono::seconds(seconds));
}

const RevisionNames kNames{"web-old", "web-new"};

StatefulSet web(std::int32_t replicas, std::string policy = "OrderedReady") {
  StatefulSet it;
  it.metadata.name = "web";
  it.metadata.uid = "set";
  it.spec.replicas = replicas;
  it.spec.serviceName = "svc";
  it.spec.podManagementPolicy = std::move(policy);
  it.spec.updateStrategy.type = "RollingUpdate";
  it.spec.updateStrategy.rollingUpdate.emplace().partition = 0;
  it.spec.selector.matchLabels = {{"app", "web"}};
  it.spec.template_.metadata.labels = {{"app", "web"}};
  it.spec.template_.spec.containers.push_back({.name = "main", .image = "v1"});
  PersistentVolumeClaim data;
  data.metadata.name = "data";
  it.spec.volumeClaimTemplates.push_back(data);
  return it;
}

// "2" is there and serves; "2w" waits; "2g" goes; "2f" has failed; "2o" is of the old revision.
PodRef pod(std::string_view text) {
  const auto ordinal = text.front() - '0';
  const bool old = text.find('o') != std::string_view::npos;
  const auto set = web(0);
  auto it = std::make_shared<Pod>(new_pod(set, set.spec.template_, ordinal, old ? kNames.current : kNames.update));
  it->metadata.uid = fmt::format("pod-{}", ordinal);
  it->status.phase = "Running";
  it->status.conditions.push_back({.type = "Ready", .status = "True", .lastTransitionTime = at(0)});
  if (text.find('w') != std::string_view::npos) it->status.conditions[0].status = "False";
  if (text.find('g') != std::string_view::npos) it->metadata.deletionTimestamp = at(0);
  if (text.find('f') != std::string_view::npos) it->status.phase = "Failed";
  return it;
}

// "+1 -2": what is made and what is removed.
std::string steps(const StatefulSet& set, const std::vector<std::string_view>& pods, int now = 0) {
  std::vector<PodRef> all;
  for (const auto& one : pods) all.push_back(pod(one));
  std::string out;
  for (const auto& step : next_steps(set, kNames, all, at(now))) {
    const auto* sign = step.what == OrdinalStep::What::Create   ? "+"
                       : step.what == OrdinalStep::What::Remove ? "-"
                                                                : "=";
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", sign, step.ordinal);
  }
  return out;
}

TEST(Ordinals, AreReadFromNames) {
  EXPECT_EQ(ordinal_of("web", "web-0"), 0);
  EXPECT_EQ(ordinal_of("web", "web-12"), 12);
  for (const auto* name :
       {"web", "web-", "web-a", "web-01", "web--1", "web-1x", "web-x-1", "other-1", "web-99999999999"}) {
    EXPECT_EQ(ordinal_of("web", name), std::nullopt) << name;
  }
}

TEST(Ordinals, ComeOneAfterTheOther) {
  EXPECT_EQ(steps(web(3), {}), "+0");
  EXPECT_EQ(steps(web(3), {"0w"}), "") << "waits for the first";
  EXPECT_EQ(steps(web(3), {"0"}), "+1");
  EXPECT_EQ(steps(web(3), {"0", "2"}), "+1") << "a gap is filled";
  EXPECT_EQ(steps(web(3), {"0g", "1", "2"}), "");
  EXPECT_EQ(steps(web(3, "Parallel"), {"1w"}), "+0 +2");
}

TEST(Ordinals, CountFromTheirStart) {
  auto it = web(2);
  it.spec.ordinals.emplace().start = 5;
  EXPECT_EQ(steps(it, {}), "+5");
  EXPECT_EQ(steps(it, {"4", "5", "6"}), "-4");
}

TEST(Ordinals, GoTheHighestFirst) {
  EXPECT_EQ(steps(web(1), {"0", "1", "2"}), "-2");
  EXPECT_EQ(steps(web(1), {"0", "1", "2g"}), "") << "one at a time";
  EXPECT_EQ(steps(web(1), {"0w", "1", "2"}), "") << "not while others are not ready";
  EXPECT_EQ(steps(web(1), {"0", "1", "2w"}), "-2") << "the first that is not ready may go";
  EXPECT_EQ(steps(web(1), {"0", "1w", "2w"}), "") << "but not before one that comes earlier";
  EXPECT_EQ(steps(web(1, "Parallel"), {"0w", "1", "2"}), "-2 -1");
}

TEST(Ordinals, FailedOnesAreReplaced) {
  EXPECT_EQ(steps(web(2), {"0f", "1"}), "-0");
  EXPECT_EQ(steps(web(2, "Parallel"), {"0f", "1f"}), "-0 -1");
}

TEST(Ordinals, AreUpdatedFromTheLast) {
  EXPECT_EQ(steps(web(3), {"0o", "1o", "2o"}), "-2");
  EXPECT_EQ(steps(web(3), {"0o", "1o", "2w"}), "") << "waits for the new one";
  EXPECT_EQ(steps(web(3), {"0o", "1o", "2"}), "-1");
  auto half = web(3);
  half.spec.updateStrategy.rollingUpdate->partition = 2;
  EXPECT_EQ(steps(half, {"0o", "1o", "2o"}), "-2");
  EXPECT_EQ(steps(half, {"0o", "1o", "2"}), "");
  EXPECT_FALSE(is_updated(half, 1));
  EXPECT_TRUE(is_updated(half, 2));
  auto by_hand = web(3);
  by_hand.spec.updateStrategy.type = "OnDelete";
  EXPECT_EQ(steps(by_hand, {"0o", "1o", "2o"}), "");
}

TEST(Ordinals, ABrokenOneHoldsUpItsCureOnlyInOrder) {
  EXPECT_EQ(steps(web(2), {"0o", "1ow"}), "");
  EXPECT_EQ(steps(web(2, "Parallel"), {"0o", "1ow"}), "-1");
}

TEST(Ordinals, WaitForThoseThatAreReadyToStaySo) {
  auto it = web(2);
  it.spec.minReadySeconds = 10;
  EXPECT_EQ(steps(it, {"0"}, 9), "");
  EXPECT_EQ(steps(it, {"0"}, 10), "+1");
}

TEST(Ordinals, APodHasAnIdentity) {
  auto set = web(3);
  api::corev1::Volume shadowed;
  shadowed.name = "data";
  set.spec.template_.spec.volumes.push_back(shadowed);
  const auto it = new_pod(set, set.spec.template_, 2, "web-x");
  EXPECT_EQ(it.metadata.name, "web-2");
  EXPECT_EQ(it.spec.hostname, "web-2");
  EXPECT_EQ(it.spec.subdomain, "svc");
  EXPECT_EQ(it.metadata.labels.at("statefulset.kubernetes.io/pod-name"), "web-2");
  EXPECT_EQ(it.metadata.labels.at("apps.kubernetes.io/pod-index"), "2");
  EXPECT_EQ(it.metadata.labels.at("controller-revision-hash"), "web-x");
  ASSERT_EQ(it.spec.volumes.size(), 1U);
  EXPECT_EQ(it.spec.volumes[0].persistentVolumeClaim->claimName, "data-web-2");
  auto changed = it;
  changed.metadata.labels.erase("apps.kubernetes.io/pod-index");
  EXPECT_FALSE(has_identity(changed, 2));
}

TEST(Ordinals, WhoOwnsAClaim) {
  auto set = web(1);
  auto& policy = set.spec.persistentVolumeClaimRetentionPolicy.emplace();
  const auto its_pod = pod("0");
  const auto owners = [&](std::int32_t ordinal) {
    PersistentVolumeClaim claim;
    claim.metadata.ownerReferences.push_back({.apiVersion = "v1", .kind = "ConfigMap", .name = "x", .uid = "other"});
    std::string out;
    for (const auto& one : claim_owners(set, claim, ordinal, its_pod.get())) out += one.uid + " ";
    return out;
  };
  policy = {"Retain", "Retain"};
  EXPECT_EQ(owners(0), "other ");
  EXPECT_EQ(owners(1), "other ");
  policy = {"Delete", "Retain"};
  EXPECT_EQ(owners(0), "other set ");
  EXPECT_EQ(owners(1), "other set ");
  policy = {"Retain", "Delete"};
  EXPECT_EQ(owners(0), "other ");
  EXPECT_EQ(owners(1), "other pod-0 ");
  policy = {"Delete", "Delete"};
  EXPECT_EQ(owners(0), "other set ");
  EXPECT_EQ(owners(1), "other pod-0 ");
}

TEST(Ordinals, StatusTellsWhenTheUpdateIsDone) {
  const auto set = web(2);
  const auto half = observed(set, kNames, {pod("0o"), pod("1w")}, at(0));
  EXPECT_EQ(half.replicas, 2);
  EXPECT_EQ(half.readyReplicas, 1);
  EXPECT_EQ(half.currentReplicas, 1);
  EXPECT_EQ(half.updatedReplicas, 1);
  EXPECT_EQ(half.currentRevision, "web-old");
  const auto done = observed(set, kNames, {pod("0"), pod("1")}, at(0));
  EXPECT_EQ(done.currentRevision, "web-new");
  EXPECT_EQ(done.currentReplicas, 2);
}

TEST(Revisions, BringTheirTemplateBack) {
  const auto set = web(1);
  auto other = set.spec.template_;
  other.spec.containers[0].image = "v2";
  const auto revision = [](const api::corev1::PodTemplateSpec& of, std::int64_t number) {
    auto it = std::make_shared<ControllerRevision>();
    it->metadata.name = fmt::format("r{}", number);
    it->data = revision_data(of);
    it->revision = number;
    return it;
  };
  const std::vector<RevisionRef> history{revision(set.spec.template_, 1), revision(other, 2), revision(other, 3)};
  EXPECT_EQ(find_revision(history, set.spec.template_)->revision, 1);
  EXPECT_EQ(find_revision(history, other)->revision, 3);
  EXPECT_EQ(highest_revision(history), 3);
  EXPECT_EQ(template_of(*history[1]), other);
  const auto surplus = surplus_revisions(history, {"r3"}, 1);
  ASSERT_EQ(surplus.size(), 1U);
  EXPECT_EQ(surplus[0]->metadata.name, "r1");
}

}  // namespace
}  // namespace kopper::workloads
