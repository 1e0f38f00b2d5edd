#include "kopper/workloads/service_proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::corev1::Service;
using api::discoveryv1::EndpointSlice;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Service a_service() {
  Service it;
  it.metadata = {.name = "web", .namespace_ = "shop"};
  it.spec.clusterIP = "127.96.0.9";
  it.spec.ports.push_back({.name = "http", .protocol = "TCP", .port = 80});
  return it;
}

EndpointSlice slice(std::string port_name, std::int32_t port) {
  EndpointSlice it;
  it.addressType = "IPv4";
  it.ports.push_back({.name = std::move(port_name), .protocol = "TCP", .port = port});
  return it;
}
void add(EndpointSlice& to, std::string ip, bool ready = true, bool serving = true, bool terminating = false) {
  auto& endpoint = to.endpoints.emplace_back();
  endpoint.addresses = {std::move(ip)};
  endpoint.conditions = {.ready = ready, .serving = serving, .terminating = terminating};
}
SliceRef ref(const EndpointSlice& it) { return std::make_shared<const EndpointSlice>(it); }

TEST(ServiceFronts, GoToReadyPods) {
  auto one = slice("http", 8080);
  add(one, "127.64.0.2");
  add(one, "127.64.0.3", false);
  add(one, "127.64.0.4", false, true, true);
  auto two = slice("http", 9090);
  add(two, "127.64.0.1");
  auto other = slice("admin", 1);
  add(other, "127.64.0.9");
  const auto found = fronts_of(a_service(), {ref(one), ref(two), ref(other)});
  ASSERT_EQ(found.fronts.size(), 1U);
  EXPECT_EQ(found.fronts[0].at, (Address{"127.96.0.9", 80}));
  EXPECT_THAT(found.fronts[0].backends, ElementsAre(Address{"127.64.0.1", 9090}, Address{"127.64.0.2", 8080}));
  EXPECT_THAT(found.unsupported, IsEmpty());
}

TEST(ServiceFronts, GoToPodsThatEndWhenThereAreNoOthers) {
  auto one = slice("http", 8080);
  add(one, "127.64.0.2", false, false, false);
  add(one, "127.64.0.3", false, true, true);
  EXPECT_THAT(fronts_of(a_service(), {ref(one)}).fronts.at(0).backends, ElementsAre(Address{"127.64.0.3", 8080}));
}

TEST(ServiceFronts, HaveNodePorts) {
  auto service = a_service();
  service.spec.ports[0].nodePort = 30080;
  auto found = fronts_of(service, {});
  ASSERT_EQ(found.fronts.size(), 2U);
  EXPECT_EQ(found.fronts[1].at, (Address{"127.0.0.1", 30080}));
  service.spec.clusterIP = "10.96.0.9";
  found = fronts_of(service, {});
  ASSERT_EQ(found.fronts.size(), 1U) << "nobody can listen on its address";
  EXPECT_EQ(found.fronts[0].at, (Address{"127.0.0.1", 30080}));
}

TEST(ServiceFronts, AreOverTcpOnly) {
  auto service = a_service();
  service.spec.ports.push_back({.name = "dns", .protocol = "UDP", .port = 53});
  const auto found = fronts_of(service, {});
  EXPECT_EQ(found.fronts.size(), 1U);
  EXPECT_THAT(found.unsupported, ElementsAre("port 53 cannot be reached: UDP is not supported here, only TCP is"));
}

TEST(ServiceFronts, OfNoAddressAreNone) {
  auto service = a_service();
  service.spec.clusterIP = "None";
  EXPECT_THAT(fronts_of(service, {}).fronts, IsEmpty());
  service.spec.clusterIP = "";
  service.spec.type = "ExternalName";
  EXPECT_THAT(fronts_of(service, {}).fronts, IsEmpty());
}

TEST(ServiceFronts, StickWhenAskedTo) {
  auto service = a_service();
  EXPECT_EQ(fronts_of(service, {}).fronts.at(0).sticky, std::nullopt);
  service.spec.sessionAffinity = "ClientIP";
  EXPECT_EQ(fronts_of(service, {}).fronts.at(0).sticky, std::chrono::hours(3));
  service.spec.sessionAffinityConfig.emplace().clientIP.emplace().timeoutSeconds = 5;
  EXPECT_EQ(fronts_of(service, {}).fronts.at(0).sticky, std::chrono::seconds(5));
}

}  // namespace
}  // namespace kopper::workloads
