#include "kopper/workloads/pod_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::corev1::ContainerStatus;
using api::corev1::Pod;
using api::corev1::PodStatus;
using ::testing::HasSubstr;

api::Time at(int seconds) {
  return api::Time(std::chrono::sys_seconds(std::chrono::sys_days(std::chrono::January / 1 / 2026)) +
                   std::chrono::seconds(seconds));
}

Pod pod(std::string policy = "Always") {
  Pod it;
  it.metadata.generation = 1;
  it.spec.restartPolicy = std::move(policy);
  it.spec.containers.push_back({.name = "a"});
  it.spec.containers.push_back({.name = "b"});
  return it;
}

ContainerStatus running(std::string name, bool ready = true) {
  ContainerStatus it;
  it.name = std::move(name);
  it.state.running.emplace();
  it.ready = ready;
  it.started = true;
  return it;
}

ContainerStatus ended(std::string name, std::int32_t code) {
  ContainerStatus it;
  it.name = std::move(name);
  it.state.terminated.emplace().exitCode = code;
  return it;
}

ContainerStatus waiting(std::string name, bool ran_before = false) {
  ContainerStatus it;
  it.name = std::move(name);
  it.state.waiting.emplace().reason = ran_before ? "CrashLoopBackOff" : "ContainerCreating";
  if (ran_before) it.lastState.terminated.emplace().exitCode = 1;
  return it;
}

std::string phase(const Pod& it, std::vector<ContainerStatus> containers, std::vector<ContainerStatus> init = {}) {
  PodRecord record;
  record.containers = std::move(containers);
  record.init = std::move(init);
  return pod_status(it, record, at(0)).phase;
}

std::string condition(const PodStatus& status, std::string_view type) {
  for (const auto& one : status.conditions) {
    if (one.type == type) return one.status + (one.reason.empty() ? "" : " " + one.reason);
  }
  return "none";
}

TEST(PodStatus, PhaseFollowsTheContainersAndThePolicy) {
  EXPECT_EQ(phase(pod(), {}), "Pending");
  EXPECT_EQ(phase(pod(), {waiting("a"), waiting("b")}), "Pending");
  EXPECT_EQ(phase(pod(), {running("a"), waiting("b")}), "Running");
  EXPECT_EQ(phase(pod(), {waiting("a", true), waiting("b", true)}), "Running") << "between two starts";
  EXPECT_EQ(phase(pod(), {ended("a", 0), ended("b", 0)}), "Running") << "they will run again";
  EXPECT_EQ(phase(pod("Never"), {ended("a", 0), running("b")}), "Running");
  EXPECT_EQ(phase(pod("Never"), {ended("a", 0), ended("b", 0)}), "Succeeded");
  EXPECT_EQ(phase(pod("Never"), {ended("a", 0), ended("b", 3)}), "Failed");
  EXPECT_EQ(phase(pod("OnFailure"), {ended("a", 0), ended("b", 3)}), "Running");
  EXPECT_EQ(phase(pod("OnFailure"), {ended("a", 0), ended("b", 0)}), "Succeeded");
}

TEST(PodStatus, InitContainersComeFirst) {
  auto it = pod("Never");
  it.spec.initContainers.push_back({.name = "i"});
  EXPECT_EQ(phase(it, {}, {running("i")}), "Pending");
  EXPECT_EQ(phase(it, {}, {ended("i", 1)}), "Failed");
  EXPECT_EQ(phase(it, {running("a"), running("b")}, {ended("i", 0)}), "Running");
  it.spec.restartPolicy = "Always";
  EXPECT_EQ(phase(it, {}, {ended("i", 1)}), "Pending") << "it is tried again";
  it.spec.initContainers[0].restartPolicy = "Always";
  EXPECT_EQ(phase(it, {running("a"), running("b")}, {running("i")}), "Running") << "a sidecar goes on";
}

TEST(PodStatus, ConditionsNameWhatIsMissing) {
  auto it = pod();
  it.spec.initContainers.push_back({.name = "i"});
  PodRecord record;
  record.init = {running("i")};
  auto status = pod_status(it, record, at(0));
  EXPECT_EQ(condition(status, "Initialized"), "False ContainersNotInitialized");
  EXPECT_EQ(condition(status, "Ready"), "False ContainersNotReady");
  record.init = {ended("i", 0)};
  record.containers = {running("a"), running("b", false)};
  status = pod_status(it, record, at(0));
  EXPECT_EQ(condition(status, "Initialized"), "True");
  EXPECT_EQ(condition(status, "Ready"), "False ContainersNotReady");
  EXPECT_THAT(status.conditions[1].message, HasSubstr("[b]"));
  record.containers = {running("a"), running("b")};
  EXPECT_EQ(condition(pod_status(it, record, at(0)), "Ready"), "True");
  auto done = pod("Never");
  record.containers = {ended("a", 0), ended("b", 0)};
  EXPECT_EQ(condition(pod_status(done, record, at(0)), "Ready"), "False PodCompleted");
}

TEST(PodStatus, ConditionsThatStayKeepTheirTime) {
  auto it = pod();
  PodRecord record;
  record.containers = {running("a"), running("b")};
  it.status = pod_status(it, record, at(1));
  EXPECT_EQ(pod_status(it, record, at(9)), it.status);
  record.containers = {running("a"), running("b", false)};
  EXPECT_EQ(pod_status(it, record, at(9)).conditions[2].lastTransitionTime, at(9));
}

TEST(PodStatus, WhatOthersWroteStays) {
  auto it = pod();
  it.status.conditions.push_back({.type = "PodScheduled", .status = "True"});
  it.spec.readinessGates.push_back({"example.com/gate"});
  PodRecord record;
  record.containers = {running("a"), running("b")};
  it.status = pod_status(it, record, at(0));
  EXPECT_EQ(condition(it.status, "PodScheduled"), "True");
  EXPECT_EQ(condition(it.status, "Ready"), "False ReadinessGatesNotReady");
  EXPECT_EQ(condition(it.status, "ContainersReady"), "True");
  it.status.conditions.push_back({.type = "example.com/gate", .status = "True"});
  EXPECT_EQ(condition(pod_status(it, record, at(0)), "Ready"), "True");
}

TEST(PodStatus, RestartsWaitLongerAndLonger) {
  EXPECT_EQ(restart_delay(0).count(), 0);
  EXPECT_EQ(restart_delay(1).count(), 10);
  EXPECT_EQ(restart_delay(3).count(), 40);
  EXPECT_EQ(restart_delay(6).count(), 300);
  EXPECT_EQ(restart_delay(1000).count(), 300);
}

}  // namespace
}  // namespace kopper::workloads
