// Services that are reached on this machine, on a whole cluster in this process.
#include "kopper/workloads/service_proxy.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/gen/events_v1.h"
#include "kopper/api/names.h"
#include "kopper/rt/stream.h"
#include "kopper/testing/cluster.h"

namespace kopper::testing {
namespace {

using api::corev1::Service;
using ::testing::Contains;
using ::testing::HasSubstr;

ClusterOptions on_loopback() {
  ClusterOptions options;
  options.plane.service_network = "127.96.0.0/16";
  return options;
}

struct ServiceOnCluster : ::testing::Test {
  ~ServiceOnCluster() override { forwarder.reset(); }  // its sockets are on the cluster's loop

  void add_pod(const std::string& name, const std::string& ip, std::uint16_t port) {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, labels: {{app: web}}}}, spec: "
                    "{{nodeName: node-1, containers: [{{name: main, image: x, ports: [{{name: web, "
                    "containerPort: {}}}]}}]}}}}",
                    name, port));
    set_ready(name, ip, true);
  }
  void set_ready(const std::string& name, const std::string& ip, bool ready) {
    cluster.set_status<Pod>(name, [&](Pod& it) {
      it.status.phase = "Running";
      it.status.podIP = ip;
      it.status.podIPs = {{ip}};
      it.status.conditions = {{.type = "Ready", .status = ready ? "True" : "False"}};
    });
    cluster.settle();
  }
  Service add_service(std::uint16_t port) {
    cluster.apply(
        fmt::format("{{apiVersion: v1, kind: Service, metadata: {{name: web}}, spec: {{selector: {{app: web}}, "
                    "ports: [{{name: http, port: {}, targetPort: web}}, {{name: dns, port: 53, protocol: UDP}}]"
                    "}}}}",
                    port));
    cluster.settle();
    return cluster.get<Service>("web");
  }
  bool answers(const std::string& ip, std::uint16_t port) {
    try {
      cluster.run(rt::connect_tcp(ip, port));
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  std::vector<std::string> events() {
    std::vector<std::string> out;
    for (const auto& event : cluster.list<api::eventsv1::Event>()) out.push_back(event.reason + ": " + event.note);
    return out;
  }

  std::optional<workloads::Forwarder> forwarder{std::in_place};
  Cluster cluster{{workloads::endpoints(), workloads::service_proxy(*forwarder)}, on_loopback()};
};

TEST_F(ServiceOnCluster, IsReachedWhileAPodIsReady) {
  auto pod = rt::Listener::tcp("127.64.0.1");
  const auto port = rt::Listener::tcp("127.64.0.2").port();  // one that is free
  const auto service = add_service(port);
  ASSERT_TRUE(service.spec.clusterIP.starts_with("127.96."));
  EXPECT_FALSE(answers(service.spec.clusterIP, port));

  add_pod("a", "127.64.0.1", pod.port());
  const auto client = cluster.run(rt::connect_tcp(service.spec.clusterIP, port));
  const auto server = cluster.run(pod.accept());
  cluster.run(client->write("hello"));
  std::string heard(5, ' ');
  cluster.run(rt::read_exactly(*server, heard));
  EXPECT_EQ(heard, "hello");

  set_ready("a", "127.64.0.1", false);
  EXPECT_FALSE(answers(service.spec.clusterIP, port));
  set_ready("a", "127.64.0.1", true);
  EXPECT_TRUE(answers(service.spec.clusterIP, port));
  cluster.remove<Service>("web");
  cluster.settle();
  EXPECT_FALSE(answers(service.spec.clusterIP, port));
}

TEST_F(ServiceOnCluster, SaysWhatCannotBeReached) {
  const auto port = rt::Listener::tcp("127.64.0.2").port();
  const auto service = add_service(port);
  const auto other = rt::Listener::tcp(service.spec.clusterIP, port);
  add_pod("a", "127.64.0.1", port);
  cluster.until("there are events", [this] { return events().size() >= 2; });
  EXPECT_THAT(events(), Contains(HasSubstr("PortNotSupported: port 53 cannot be reached: UDP is not supported here")));
  EXPECT_THAT(events(),
              Contains(HasSubstr(fmt::format("PortUnavailable: cannot listen on {}:{}: Address already in use",
                                             service.spec.clusterIP, port))));
}

}  // namespace
}  // namespace kopper::testing
