#include "kopper/workloads/hosts.h"

#include <gtest/gtest.h>

namespace kopper::workloads {
namespace {

using api::corev1::Pod;
using api::corev1::Service;
using api::discoveryv1::EndpointSlice;

std::shared_ptr<const Service> service(std::string ns, std::string name, std::string ip,
                                       std::string type = "ClusterIP") {
  Service it;
  it.metadata = {.name = std::move(name), .namespace_ = std::move(ns)};
  it.spec.clusterIP = std::move(ip);
  it.spec.type = std::move(type);
  return std::make_shared<const Service>(it);
}

TEST(Hosts, NameServicesOfAllNamespaces) {
  const std::vector services{service("shop", "redis", "127.96.0.2"), service("default", "kubernetes", "127.96.0.1"),
                             service("shop", "far", "", "ExternalName")};
  EXPECT_EQ(service_hosts("shop", services, {}),
            "127.96.0.1\tkubernetes.default.svc.cluster.local\tkubernetes.default.svc\tkubernetes.default\n"
            "127.96.0.2\tredis.shop.svc.cluster.local\tredis.shop.svc\tredis.shop\tredis\n");
}

TEST(Hosts, NamePodsOfHeadlessServices) {
  EndpointSlice slice;
  slice.metadata.namespace_ = "shop";
  slice.metadata.labels = {{"kubernetes.io/service-name", "db"}};
  const auto add = [&slice](std::string ip, std::string hostname, bool ready) {
    auto& endpoint = slice.endpoints.emplace_back();
    endpoint.addresses = {std::move(ip)};
    endpoint.hostname = std::move(hostname);
    endpoint.conditions.ready = ready;
  };
  add("127.64.0.2", "db-1", true);
  add("127.64.0.1", "db-0", true);
  add("127.64.0.3", "db-2", false);
  add("127.64.0.4", "", true);
  const std::vector slices{std::make_shared<const EndpointSlice>(slice)};
  EXPECT_EQ(service_hosts("shop", {service("shop", "db", "None")}, slices),
            "127.64.0.1\tdb.shop.svc.cluster.local\tdb.shop.svc\tdb.shop\tdb\n"
            "127.64.0.1\tdb-0.db.shop.svc.cluster.local\tdb-0.db.shop.svc\tdb-0.db.shop\tdb-0.db\n"
            "127.64.0.2\tdb.shop.svc.cluster.local\tdb.shop.svc\tdb.shop\tdb\n"
            "127.64.0.2\tdb-1.db.shop.svc.cluster.local\tdb-1.db.shop.svc\tdb-1.db.shop\tdb-1.db\n"
            "127.64.0.4\tdb.shop.svc.cluster.local\tdb.shop.svc\tdb.shop\tdb\n");
  EXPECT_EQ(service_hosts("other", {service("shop", "db", "None")}, {}), "");
}

TEST(Hosts, NameThePodItself) {
  Pod pod;
  pod.metadata = {.name = "db-0", .namespace_ = "shop"};
  const PodFacts facts{.ip = "127.64.0.1"};
  const std::string localhost =
      "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
  EXPECT_EQ(pod_hosts(pod, facts, "1.1.1.1\tx\n"), localhost + "127.64.0.1\tdb-0\n1.1.1.1\tx\n");

  pod.spec.hostname = "first";
  pod.spec.subdomain = "db";
  pod.spec.hostAliases.push_back({.ip = "10.0.0.1", .hostnames = {"a", "b"}});
  EXPECT_EQ(pod_hosts(pod, facts, ""),
            localhost + "127.64.0.1\tfirst.db.shop.svc.cluster.local\tfirst\n10.0.0.1\ta\tb\n");
}

}  // namespace
}  // namespace kopper::workloads
