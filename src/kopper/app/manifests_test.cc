#include "kopper/app/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/json/yaml.h"
#include "kopper/meta/decode.h"

namespace kopper::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> kinds(const std::string& yaml) {
  std::vector<std::string> out;
  const auto documents = json::parse_yaml(yaml);
  for (const auto& document : documents.value()) out.emplace_back(document.value.text("kind"));
  return out;
}

TEST(Manifests, RunTwoReplicasOnTwoNodes) {
  const auto made = deployment({});
  EXPECT_EQ(made.spec.replicas, 2);
  const auto& apart = made.spec.template_.spec.affinity->podAntiAffinity;
  ASSERT_EQ(apart->preferredDuringSchedulingIgnoredDuringExecution.size(), 1U);
  const auto& term = apart->preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm;
  EXPECT_EQ(term.topologyKey, "kubernetes.io/hostname");
  EXPECT_EQ(term.labelSelector->matchLabels, made.spec.selector.matchLabels);
}

TEST(Manifests, SelectPodsByTheNameOnly) {
  // A selector may never change: what people add to the labels must not get into it.
  const auto made = deployment({.name = "op", .labels = {{"team", "a"}}});
  EXPECT_EQ(made.spec.selector.matchLabels, (api::Labels{{"app.kubernetes.io/name", "op"}}));
  EXPECT_EQ(made.spec.template_.metadata.labels, (api::Labels{{"app.kubernetes.io/name", "op"}, {"team", "a"}}));
  EXPECT_EQ(webhook_service({.name = "op", .labels = {{"team", "a"}}}).spec.selector, made.spec.selector.matchLabels);
}

TEST(Manifests, AskForTheRestrictedSecurityStandard) {
  const auto pod = deployment({}).spec.template_.spec;
  EXPECT_TRUE(*pod.securityContext->runAsNonRoot);
  EXPECT_EQ(pod.securityContext->seccompProfile->type, "RuntimeDefault");
  const auto& container = *pod.containers[0].securityContext;
  EXPECT_FALSE(*container.allowPrivilegeEscalation);
  EXPECT_TRUE(*container.readOnlyRootFilesystem);
  EXPECT_THAT(container.capabilities->drop, ElementsAre("ALL"));
  EXPECT_EQ(namespace_of({}).metadata.labels.at("pod-security.kubernetes.io/enforce"), "restricted");
}

TEST(Manifests, HoldWhatTheProgramListensOn) {
  EXPECT_THAT(kinds(deployment_yaml({})),
              ElementsAre("Namespace", "ServiceAccount", "Service", "Deployment", "PodDisruptionBudget"));
  EXPECT_THAT(kinds(deployment_yaml({.replicas = 1, .metrics_port = 0, .webhook_port = 9443})),
              ElementsAre("Namespace", "ServiceAccount", "Service", "Deployment"));
  const auto quiet = deployment({.replicas = 1, .health_port = 0, .metrics_port = 0});
  EXPECT_THAT(quiet.spec.template_.spec.containers[0].ports, IsEmpty());
  EXPECT_FALSE(quiet.spec.template_.spec.containers[0].livenessProbe.has_value());
  EXPECT_FALSE(quiet.spec.template_.spec.affinity.has_value());
}

TEST(Manifests, WriteNoStatusAndTheSameBytesEveryTime) {
  const DeployOptions options{.labels = {{"b", "1"}, {"a", "2"}}};
  const auto yaml = deployment_yaml(options);
  EXPECT_EQ(deployment_yaml(options), yaml);
  EXPECT_THAT(yaml, Not(HasSubstr("status:")));
}

TEST(Manifests, ReadBackAsTheyWereMade) {
  const auto made = deployment({.webhook_port = 9443});
  const auto documents = json::parse_yaml(deployment_yaml({.webhook_port = 9443}));
  for (const auto& document : documents.value()) {
    if (document.value.text("kind") != "Deployment") continue;
    const auto read = meta::from_value<api::appsv1::Deployment>(document.value);
    ASSERT_TRUE(read.has_value()) << read.error().str();
    EXPECT_EQ(*read, made);
  }
}

}  // namespace
}  // namespace kopper::app
