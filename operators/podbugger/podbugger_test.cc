#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/validation.h"

#include "types.h"

namespace podbugger {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace json = kopper::json;

Podbuggertool tool(std::string label = "app=web", std::string image = "busybox") {
  Podbuggertool tool;
  tool.metadata.name = "demo";
  tool.metadata.namespace_ = "default";
  tool.spec.label = std::move(label);
  tool.spec.image = std::move(image);
  return tool;
}

kopper::Pod pod(std::string name = "web-1") {
  kopper::Pod pod;
  pod.metadata.name = std::move(name);
  pod.metadata.namespace_ = "default";
  pod.metadata.labels = {{"app", "web"}};
  pod.status.phase = "Running";
  return pod;
}

// With what missing() asked for.
kopper::Pod served(const Podbuggertool& tool, kopper::Pod pod) {
  auto container = missing(tool, pod);
  EXPECT_TRUE(container.has_value());
  if (container) pod.spec.ephemeralContainers.push_back(std::move(*container));
  return pod;
}

Pods refs(std::vector<kopper::Pod> pods) {
  Pods out;
  for (auto& pod : pods) out.push_back(std::make_shared<const kopper::Pod>(std::move(pod)));
  return out;
}

TEST(Podbugger, TheContainerIsThatOfTheOriginal) {
  const auto container = missing(tool(), pod());
  ASSERT_TRUE(container.has_value());
  EXPECT_EQ(container->image, "busybox");
  EXPECT_EQ(container->imagePullPolicy, "IfNotPresent");
  EXPECT_THAT(container->command, ElementsAre("sh"));
  EXPECT_EQ(container->stdin_, true);
  EXPECT_EQ(container->tty, true);
  EXPECT_EQ(container->terminationMessagePolicy, "File");
}

TEST(Podbugger, P1NamesAreValidWhateverTheImage) {
  for (const auto* image : {"nicolaka/netshoot", "busybox:1.36", "registry.example:5000/A/B@sha256:0123"}) {
    auto long_named = tool("app=web", image);
    long_named.metadata.name = std::string(200, 'x') + ".y";
    for (const auto& one : {tool("app=web", image), long_named}) {
      const auto name = missing(one, pod())->name;
      EXPECT_LE(name.size(), 63U) << name;
      EXPECT_THAT(kopper::api::check_dns_label(name), testing::IsEmpty()) << name;
      EXPECT_TRUE(name.starts_with("pbt-"));
    }
  }
  EXPECT_NE(missing(tool("app=web", "a"), pod())->name, missing(tool("app=web", "b"), pod())->name);
}

TEST(Podbugger, P3OnlyPodsOfItsNamespace) {
  auto foreign = pod();
  foreign.metadata.namespace_ = "other";
  EXPECT_TRUE(picks(tool(), pod()));
  EXPECT_FALSE(picks(tool(), foreign));
}

TEST(Podbugger, P6TwoToolsForOnePod) {
  auto other = tool();
  other.metadata.name = "other";
  const auto both = served(other, served(tool(), pod()));
  ASSERT_EQ(both.spec.ephemeralContainers.size(), 2U);
  EXPECT_NE(both.spec.ephemeralContainers[0].name, both.spec.ephemeralContainers[1].name);
  EXPECT_FALSE(missing(tool(), both));
  EXPECT_FALSE(missing(other, both));
}

TEST(Podbugger, P8AnotherPersonsBusyboxIsNotOurs) {
  auto debugged = pod();
  debugged.spec.ephemeralContainers.push_back({.name = "debugger-x7k2p", .image = "busybox"});
  EXPECT_TRUE(missing(tool(), debugged));
  EXPECT_EQ(state_of(tool(), debugged).container, "");
}

// A tool whose name begins with another's does not take its containers for its own.
TEST(Podbugger, P8NorThatOfAToolWithALongerName) {
  auto longer = tool();
  longer.metadata.name = "demo-2";
  const auto one = served(longer, pod());
  EXPECT_TRUE(missing(tool(), one));
  EXPECT_EQ(observed(tool(), refs({one}), {}).stale, 0);
}

TEST(Podbugger, P8AgainAfterItEndedOnlyWhenAsked) {
  auto ended = served(tool(), pod());
  kopper::api::corev1::ContainerStatus status;
  status.name = ended.spec.ephemeralContainers[0].name;
  status.state.terminated.emplace().exitCode = 137;
  ended.status.ephemeralContainerStatuses.push_back(status);
  EXPECT_FALSE(missing(tool(), ended));
  EXPECT_EQ(state_of(tool(), ended).state, "Exited");

  auto again = tool();
  again.spec.reinject = "OnExit";
  const auto second = missing(again, ended);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->name, status.name + "-2");
  auto twice = ended;
  twice.spec.ephemeralContainers.push_back(*second);
  EXPECT_FALSE(missing(again, twice));
}

TEST(Podbugger, P9WhenSaysInWhichState) {
  auto pending = pod();
  pending.status.phase = "Pending";
  EXPECT_FALSE(missing(tool(), pending));
  EXPECT_EQ(state_of(tool(), pending).message, "the pod is not Running");
  auto always = tool();
  always.spec.when = "Always";
  EXPECT_TRUE(missing(always, pending));
  auto ready = tool();
  ready.spec.when = "Ready";
  EXPECT_FALSE(missing(ready, pod()));
}

TEST(Podbugger, P12LabelsAreSelectors) {
  EXPECT_TRUE(picks(tool("app in (web, api), !old"), pod()));
  EXPECT_FALSE(picks(tool("app!=web"), pod()));
  auto structured = tool("");
  structured.spec.selector.matchLabels = {{"app", "web"}};
  EXPECT_TRUE(picks(structured, pod()));
  structured.spec.label = "tier=db";
  EXPECT_FALSE(picks(structured, pod()));
}

TEST(Podbugger, P12WhatIsNoSelectorIsSaid) {
  for (const auto* label : {"a=b=c", "", "=x"}) {
    try {
      selector_of(tool(label));
      ADD_FAILURE() << label;
    } catch (const kopper::Terminal& error) {
      EXPECT_EQ(error.reason, "InvalidSelector");
      EXPECT_THAT(error.what(), HasSubstr("spec.label"));
    }
    EXPECT_FALSE(picks(tool(label), pod()));
  }
}

TEST(Podbugger, P13SystemPodsAndThoseThatOptOutAreLeftAlone) {
  auto out = pod();
  out.metadata.annotations[std::string(kOptOut)] = "off";
  EXPECT_FALSE(picks(tool(), out));
  auto system = pod();
  system.metadata.namespace_ = "kube-system";
  auto there = tool();
  there.metadata.namespace_ = "kube-system";
  EXPECT_FALSE(picks(there, system));
  auto self = pod();
  self.metadata.labels["app.kubernetes.io/name"] = "operator-manager";
  EXPECT_FALSE(picks(tool(), self));
  auto mirror = pod();
  mirror.metadata.annotations["kubernetes.io/config.mirror"] = "x";
  EXPECT_FALSE(picks(tool(), mirror));
}

TEST(Podbugger, PodsThatGoOrEndedAreLeftAlone) {
  auto going = pod();
  going.metadata.deletionTimestamp = kopper::Time::parse("2026-01-01T00:00:00Z").value();
  EXPECT_FALSE(picks(tool(), going));
  auto done = pod();
  done.status.phase = "Succeeded";
  EXPECT_FALSE(picks(tool(), done));
}

TEST(Podbugger, P10StatusCounts) {
  auto failing = served(tool(), pod("web-2"));
  kopper::api::corev1::ContainerStatus waiting;
  waiting.name = failing.spec.ephemeralContainers[0].name;
  auto& state = waiting.state.waiting.emplace();
  state.reason = "ErrImagePull";
  state.message = "no such image";
  failing.status.ephemeralContainerStatuses.push_back(waiting);

  const auto status = observed(tool(), refs({served(tool(), pod("web-1")), failing, pod("web-3"), pod("web-4")}),
                               {{"web-3", "denied by policy"}});
  EXPECT_EQ(status.matched, 4);
  EXPECT_EQ(status.installed, 2);
  EXPECT_EQ(status.failed, 2);
  ASSERT_EQ(status.pods.size(), 4U);
  EXPECT_EQ(status.pods[1].message, "ErrImagePull: no such image");
  EXPECT_EQ(status.pods[2].message, "denied by policy");
  EXPECT_EQ(status.pods[3].state, "Waiting");
  EXPECT_FALSE(kopper::api::is_true(status.conditions, "Ready"));
  EXPECT_THAT(kopper::api::find_condition(status.conditions, "Degraded")->message, HasSubstr("web-2"));
}

TEST(Podbugger, AnotherImageLeavesTheOldOneBehind) {
  const auto old = served(tool("app=web", "busybox:1"), pod());
  const auto now = tool("app=web", "busybox:2");
  EXPECT_EQ(observed(now, refs({old}), {}).stale, 1);
  EXPECT_EQ(observed(now, refs({old}), {}).installed, 0);
  EXPECT_EQ(observed(now, refs({served(now, old)}), {}).installed, 1);
}

TEST(Podbugger, CrdIsThatOfTheOriginalInV1) {
  const auto spec = podbugger();
  const auto crd = spec.crd();
  EXPECT_EQ(crd["metadata"].text("name"), "podbuggertools.ualter.com");
  EXPECT_EQ(json::dump(crd["spec"]["names"]["shortNames"]), R"(["pbt"])");
  ASSERT_EQ(spec.permissions.size(), 1U);
  EXPECT_EQ(spec.permissions[0].subresource, "ephemeralcontainers");
}

}  // namespace
}  // namespace podbugger
