// Endpoints on a whole cluster in this process.
#include "kopper/workloads/endpoints.h"

#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/testing/cluster.h"

namespace kopper::testing {
namespace {

using api::corev1::Endpoints;
using api::corev1::Service;
using api::discoveryv1::EndpointSlice;

struct EndpointsOnCluster : ::testing::Test {
  void add_pod(const std::string& name, const std::string& ip) {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, labels: {{app: web}}}}, spec: "
                    "{{nodeName: node-1, containers: [{{name: main, image: x}}]}}}}",
                    name));
    cluster.set_status<Pod>(name, [&ip](Pod& it) {
      it.status.phase = "Running";
      it.status.podIP = ip;
      it.status.podIPs = {{ip}};
      it.status.conditions = {{.type = "Ready", .status = "True"}};
    });
  }
  void add_service(std::string_view spec) {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: Service, metadata: {{name: web}}, spec: {{{} "
                    "ports: [{{port: 80, targetPort: 8080}}]}}}}",
                    spec));
  }
  std::vector<EndpointSlice> slices() {
    auto all = cluster.list<EndpointSlice>();
    std::erase_if(all, [](const EndpointSlice& it) { return it.metadata.name == "kubernetes"; });
    return all;
  }

  Cluster cluster{workloads::endpoints()};
};

TEST_F(EndpointsOnCluster, FollowPods) {
  add_service("selector: {app: web},");
  cluster.settle();
  ASSERT_EQ(slices().size(), 1U);
  EXPECT_TRUE(slices()[0].endpoints.empty());
  add_pod("a", "127.64.0.1");
  add_pod("b", "127.64.0.2");
  cluster.settle();
  ASSERT_EQ(slices().size(), 1U);
  EXPECT_EQ(slices()[0].endpoints.size(), 2U);
  EXPECT_EQ(slices()[0].ports.at(0).port, 8080);
  EXPECT_EQ(cluster.get<Endpoints>("web").subsets.at(0).addresses.size(), 2U);

  // No longer selected, and not ready any more.
  cluster.modify<Pod>("a", [](Pod& it) { it.metadata.labels["app"] = "other"; });
  cluster.set_status<Pod>("b", [](Pod& it) { it.status.conditions[0].status = "False"; });
  cluster.settle();
  ASSERT_EQ(slices()[0].endpoints.size(), 1U);
  EXPECT_EQ(slices()[0].endpoints[0].conditions.ready, false);
  EXPECT_EQ(cluster.get<Endpoints>("web").subsets.at(0).notReadyAddresses.size(), 1U);

  cluster.writes();
  cluster.restart();
  cluster.settle();
  EXPECT_TRUE(cluster.writes().empty());

  cluster.remove<Service>("web");
  cluster.settle();
  EXPECT_TRUE(slices().empty());
  EXPECT_FALSE(cluster.find<Endpoints>("web"));
}

TEST_F(EndpointsOnCluster, OfServicesWithoutSelectorAreLeftAlone) {
  add_pod("a", "127.64.0.1");
  add_service("");
  cluster.apply("{apiVersion: v1, kind: Endpoints, metadata: {name: web}, subsets: [{addresses: [{ip: 10.0.0.1}]}]}");
  cluster.settle();
  EXPECT_TRUE(slices().empty());
  EXPECT_EQ(cluster.get<Endpoints>("web").subsets.at(0).addresses.at(0).ip, "10.0.0.1");

  // From now on they are ours.
  cluster.modify<Service>("web", [](Service& it) { it.spec.selector = {{"app", "web"}}; });
  cluster.settle();
  EXPECT_EQ(cluster.get<Endpoints>("web").subsets.at(0).addresses.at(0).ip, "127.64.0.1");
}

}  // namespace
}  // namespace kopper::testing
