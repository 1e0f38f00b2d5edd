#include "kopper/workloads/endpoints.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::PodRef;
using api::corev1::Pod;
using api::corev1::Service;
using api::discoveryv1::EndpointSlice;

Service a_service() {
  Service it;
  it.metadata = {.name = "web", .namespace_ = "shop", .uid = "s-1"};
  it.metadata.labels = {{"team", "a"}};
  it.spec.selector = {{"app", "web"}};
  it.spec.clusterIP = "127.96.0.9";
  it.spec.ports.push_back({.name = "http", .protocol = "TCP", .port = 80, .targetPort = 8080});
  return it;
}

struct Given {
  bool ready = true;
  bool terminating = false;
  std::string phase = "Running";
};

Pod a_pod(int number, Given given = {}) {
  Pod it;
  it.metadata.name = fmt::format("web-{}", number);
  it.metadata.namespace_ = "shop";
  it.metadata.uid = fmt::format("p-{:04}", number);
  if (given.terminating) it.metadata.deletionTimestamp = api::Time(std::chrono::sys_seconds(std::chrono::seconds(1)));
  it.spec.nodeName = "node-1";
  it.spec.containers.push_back({.name = "main", .ports = {{.name = "web", .containerPort = 9000 + number % 2}}});
  it.status.phase = given.phase;
  it.status.podIP = fmt::format("127.64.{}.{}", number / 200, number % 200 + 1);
  it.status.conditions.push_back({.type = "Ready", .status = given.ready ? "True" : "False"});
  return it;
}

std::vector<PodRef> refs(const std::vector<Pod>& pods) {
  std::vector<PodRef> out;
  for (const auto& pod : pods) out.push_back(std::make_shared<const Pod>(pod));
  return out;
}
std::vector<PodRef> many(int count) {
  std::vector<PodRef> out;
  for (int i = 0; i < count; ++i) out.push_back(std::make_shared<const Pod>(a_pod(i)));
  return out;
}
std::vector<SliceRef> made(const SlicePlan& plan) {
  std::vector<SliceRef> out;
  for (const auto& slice : plan.wanted) out.push_back(std::make_shared<const EndpointSlice>(slice));
  return out;
}

TEST(EndpointSlices, SayWhereThePodsAre) {
  auto pod = a_pod(1);
  pod.spec.hostname = "first";
  pod.spec.subdomain = "web";
  const auto plan = plan_slices(a_service(), refs({pod}), {});
  ASSERT_EQ(plan.wanted.size(), 1U);
  const auto& slice = plan.wanted[0];
  EXPECT_TRUE(slice.metadata.name.starts_with("web-"));
  EXPECT_EQ(slice.metadata.labels,
            (api::Labels{{"team", "a"},
                         {"kubernetes.io/service-name", "web"},
                         {"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"}}));
  EXPECT_EQ(slice.addressType, "IPv4");
  ASSERT_EQ(slice.ports.size(), 1U);
  EXPECT_EQ(slice.ports[0].name, "http");
  EXPECT_EQ(slice.ports[0].port, 8080);
  ASSERT_EQ(slice.endpoints.size(), 1U);
  const auto& endpoint = slice.endpoints[0];
  EXPECT_EQ(endpoint.addresses, std::vector<std::string>{"127.64.0.2"});
  EXPECT_EQ(endpoint.hostname, "first");
  EXPECT_EQ(endpoint.nodeName, "node-1");
  EXPECT_EQ(endpoint.targetRef->name, "web-1");
  EXPECT_EQ(endpoint.targetRef->uid, "p-0001");
}

TEST(EndpointSlices, SayWhoIsReady) {
  const auto pods = refs({a_pod(1), a_pod(2, {.ready = false}), a_pod(3, {.terminating = true}),
                          a_pod(4, {.phase = "Failed"}), a_pod(5, {.phase = "Succeeded"})});
  auto service = a_service();
  const auto plan = plan_slices(service, pods, {});
  const auto& found = plan.wanted.at(0).endpoints;
  ASSERT_EQ(found.size(), 3U);
  const auto says = [&found](std::size_t i, bool ready, bool serving, bool terminating) {
    const auto& conditions = found[i].conditions;
    return conditions.ready == ready && conditions.serving == serving && conditions.terminating == terminating;
  };
  EXPECT_TRUE(says(0, true, true, false));
  EXPECT_TRUE(says(1, false, false, false));
  EXPECT_TRUE(says(2, false, true, true));

  service.spec.publishNotReadyAddresses = true;
  const auto all = plan_slices(service, pods, {});
  for (const auto& endpoint : all.wanted.at(0).endpoints) {
    EXPECT_EQ(endpoint.conditions.ready, true);
  }
}

TEST(EndpointSlices, HoldAHundredAndKeepTheirs) {
  const auto service = a_service();
  const auto pods = many(250);
  const auto first = plan_slices(service, pods, {});
  ASSERT_EQ(first.wanted.size(), 3U);
  std::set<std::string> names;
  for (const auto& slice : first.wanted) {
    names.insert(slice.metadata.name);
    EXPECT_LE(slice.endpoints.size(), kMaxEndpointsInSlice);
  }
  EXPECT_EQ(names.size(), 3U);

  // One goes: only its slice changes. Another comes: it takes the place.
  auto fewer = pods;
  fewer.erase(fewer.begin());
  const auto second = plan_slices(service, fewer, made(first));
  ASSERT_EQ(second.wanted.size(), 3U);
  EXPECT_EQ(second.wanted[0].endpoints.size(), 99U);
  EXPECT_EQ(second.wanted[1], first.wanted[1]);
  EXPECT_EQ(second.wanted[2], first.wanted[2]);
  fewer.push_back(std::make_shared<const Pod>(a_pod(999)));
  const auto third = plan_slices(service, fewer, made(second));
  EXPECT_EQ(third.wanted[0].endpoints.size(), 100U);
  EXPECT_EQ(third.wanted[0].endpoints.back().targetRef->name, "web-999");

  const auto none = plan_slices(service, {}, made(first));
  ASSERT_EQ(none.wanted.size(), 1U);
  EXPECT_TRUE(none.wanted[0].endpoints.empty());
  EXPECT_EQ(none.remove.size(), 2U);
}

TEST(EndpointSlices, AreApartForPortsThatDiffer) {
  auto service = a_service();
  service.spec.ports[0].targetPort = "web";
  const auto plan = plan_slices(service, many(4), {});
  ASSERT_EQ(plan.wanted.size(), 2U);
  EXPECT_EQ(plan.wanted[0].ports[0].port, 9000);
  EXPECT_EQ(plan.wanted[1].ports[0].port, 9001);
  EXPECT_EQ(plan.wanted[0].endpoints.size(), 2U);

  service.spec.ports[0].targetPort = "other";
  const auto without = plan_slices(service, many(1), {});
  EXPECT_TRUE(without.wanted.at(0).ports.empty());
}

TEST(EndpointSlices, OfAHeadlessServiceSaySo) {
  auto service = a_service();
  service.spec.clusterIP = "None";
  const auto plan = plan_slices(service, many(1), {});
  EXPECT_TRUE(plan.wanted.at(0).metadata.labels.contains("service.kubernetes.io/headless"));
}

TEST(EndpointSlices, AreOneForEachKindOfAddress) {
  auto service = a_service();
  service.spec.ipFamilies = {"IPv4", "IPv6"};
  auto pod = a_pod(1);
  pod.status.podIPs = {{"127.64.0.2"}, {"fd00::2"}};
  const auto plan = plan_slices(service, refs({pod}), {});
  ASSERT_EQ(plan.wanted.size(), 2U);
  EXPECT_EQ(plan.wanted[1].addressType, "IPv6");
  EXPECT_EQ(plan.wanted[1].endpoints.at(0).addresses.at(0), "fd00::2");
}

TEST(Endpoints, TellReadyFromNotReady) {
  const auto pods = refs({a_pod(3), a_pod(1), a_pod(2, {.ready = false}), a_pod(4, {.terminating = true})});
  auto service = a_service();
  const auto found = endpoints_of(service, pods);
  ASSERT_EQ(found.subsets.size(), 1U);
  const auto& subset = found.subsets[0];
  ASSERT_EQ(subset.addresses.size(), 2U);
  EXPECT_EQ(subset.addresses[0].ip, "127.64.0.2");
  EXPECT_EQ(subset.addresses[1].ip, "127.64.0.4");
  ASSERT_EQ(subset.notReadyAddresses.size(), 1U);
  EXPECT_EQ(subset.notReadyAddresses[0].targetRef->name, "web-2");
  EXPECT_EQ(subset.ports.at(0).port, 8080);

  service.spec.publishNotReadyAddresses = true;
  EXPECT_EQ(endpoints_of(service, pods).subsets.at(0).addresses.size(), 4U);
}

TEST(Endpoints, EndAtAThousand) {
  const auto found = endpoints_of(a_service(), many(1001));
  EXPECT_EQ(found.subsets.at(0).addresses.size(), 1000U);
  EXPECT_EQ(found.metadata.annotations.at("endpoints.kubernetes.io/over-capacity"), "truncated");
}

TEST(Endpoints, WithoutPortsAreForHeadlessServices) {
  auto service = a_service();
  service.spec.ports.clear();
  EXPECT_TRUE(endpoints_of(service, many(1)).subsets.empty());
  service.spec.clusterIP = "None";
  EXPECT_EQ(endpoints_of(service, many(1)).subsets.size(), 1U);
}

}  // namespace
}  // namespace kopper::workloads
