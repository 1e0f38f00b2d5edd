#include "kopper/client/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/fake_server.h"
#include "kopper/rt/loop.h"

namespace kopper::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kCore = R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
  {"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"pods","responseKind":{"group":"","version":"","kind":"Pod"},"scope":"Namespaced","singularResource":"pod",
     "verbs":["get","list"],"shortNames":["po"],"categories":["all"],"subresources":[{"subresource":"log"},{"subresource":"exec"}]},
    {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","singularResource":"node","verbs":["get"],"shortNames":["no"]},
    {"resource":"events","responseKind":{"kind":"Event"},"scope":"Namespaced","singularResource":"event","verbs":["get"],"shortNames":["ev"]}]}]}]})";
constexpr auto kGroups = R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[
  {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]},
  {"metadata":{"name":"events.k8s.io"},"versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"events","responseKind":{"kind":"Event"},"scope":"Namespaced","singularResource":"event","verbs":["get"]}]}]},
  {"metadata":{"name":"autoscaling"},"versions":[
    {"version":"v2","freshness":"Current","resources":[{"resource":"horizontalpodautoscalers","responseKind":{"kind":"HorizontalPodAutoscaler"},
      "scope":"Namespaced","singularResource":"horizontalpodautoscaler","verbs":["get"],"shortNames":["hpa"]}]},
    {"version":"v1","freshness":"Current","resources":[{"resource":"horizontalpodautoscalers","responseKind":{"kind":"HorizontalPodAutoscaler"},
      "scope":"Namespaced","singularResource":"horizontalpodautoscaler","verbs":["get"],"shortNames":["hpa"]}]}]}]})";

struct DiscoveryTest : testing::Test {
  // The resource a name is found as, "group/version plural".
  static std::string found(const Catalog& catalog, std::string_view name) {
    const auto* resource = catalog.find(name);
    return resource == nullptr ? "(none)" : resource->resource.api_version() + " " + resource->resource.plural;
  }
  Client client() { return Client(server, {.max_retries = 0}); }

  rt::Loop loop{rt::ClockMode::Manual};
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
};

TEST_F(DiscoveryTest, AggregatedInTwoCalls) {
  server->then(200, kCore).then(200, kGroups);
  const auto catalog = loop.run(discover(client()));
  EXPECT_EQ(server->target(0), "/api");
  EXPECT_EQ(server->target(1), "/apis");
  EXPECT_EQ(server->seen.size(), 2U);
  EXPECT_THAT(std::string(server->seen[0].headers.get("accept").value_or("")),
              HasSubstr("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"));

  const auto* pods = catalog.find("pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->resource,
            (Resource{.group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true}));
  EXPECT_THAT(pods->subresources, ElementsAre("log", "exec"));
  EXPECT_THAT(pods->verbs, ElementsAre("get", "list"));
  EXPECT_FALSE(catalog.find("nodes")->resource.namespaced);
}

TEST_F(DiscoveryTest, NamesPeopleUse) {
  server->then(200, kCore).then(200, kGroups);
  const auto catalog = loop.run(discover(client()));
  for (const auto* name : {"pods", "pod", "po", "Pod", "PODS", "pods.v1."})
    EXPECT_EQ(found(catalog, name), "v1 pods") << name;
  EXPECT_EQ(found(catalog, "hpa"), "autoscaling/v2 horizontalpodautoscalers");
  EXPECT_EQ(found(catalog, "hpa.autoscaling"), "autoscaling/v2 horizontalpodautoscalers");
  EXPECT_EQ(found(catalog, "horizontalpodautoscalers.v1.autoscaling"), "autoscaling/v1 horizontalpodautoscalers");
  EXPECT_EQ(found(catalog, "events"), "v1 events");
  EXPECT_EQ(found(catalog, "events.events.k8s.io"), "events.k8s.io/v1 events");
  EXPECT_EQ(found(catalog, "hpa.v3.autoscaling"), "(none)");
  EXPECT_EQ(found(catalog, "unicorns"), "(none)");
  EXPECT_EQ(catalog.find("autoscaling", "", "HorizontalPodAutoscaler")->resource.version, "v2");
  EXPECT_EQ(catalog.find("autoscaling", "v1", "HorizontalPodAutoscaler")->resource.version, "v1");
  EXPECT_EQ(catalog.find("autoscaling", "v9", "HorizontalPodAutoscaler"), nullptr);
}

TEST_F(DiscoveryTest, ABrokenGroupIsReported) {
  server->then(200, kCore).then(200, kGroups);
  const auto catalog = loop.run(discover(client()));
  EXPECT_THAT(catalog.broken, ElementsAre(BrokenApi{"metrics.k8s.io/v1beta1", "its server does not answer"}));
}

TEST_F(DiscoveryTest, LegacyServers) {
  server->then(200, R"({"kind":"APIVersions","versions":["v1"]})")
      .then(200, R"({"kind":"APIGroupList","groups":[
        {"name":"apps","versions":[{"groupVersion":"apps/v1beta1","version":"v1beta1"},{"groupVersion":"apps/v1","version":"v1"}],
         "preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},
        {"name":"bad.io","versions":[{"groupVersion":"bad.io/v1","version":"v1"}],"preferredVersion":{"version":"v1"}}]})")
      .then(200, R"({"kind":"APIResourceList","groupVersion":"v1","resources":[
        {"name":"pods","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"],"shortNames":["po"]},
        {"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]}]})")
      .then(200, R"({"kind":"APIResourceList","groupVersion":"apps/v1","resources":[
        {"name":"deployments","singularName":"","namespaced":true,"kind":"Deployment","verbs":["get"],"shortNames":["deploy"]}]})")
      .then(200, R"({"kind":"APIResourceList","groupVersion":"apps/v1beta1","resources":[
        {"name":"deployments","singularName":"","namespaced":true,"kind":"Deployment","verbs":["get"],"shortNames":["deploy"]}]})")
      .then(503, "service unavailable");
  const auto catalog = loop.run(discover(client()));
  EXPECT_EQ(server->target(5), "/apis/bad.io/v1");
  EXPECT_EQ(found(catalog, "po"), "v1 pods");
  EXPECT_THAT(catalog.find("pods")->subresources, ElementsAre("log"));
  EXPECT_EQ(catalog.find("pods")->singular, "pod");
  EXPECT_EQ(found(catalog, "deploy"), "apps/v1 deployments");
  EXPECT_FALSE(catalog.find("apps", "v1beta1", "Deployment")->preferred);
  ASSERT_EQ(catalog.broken.size(), 1U);
  EXPECT_EQ(catalog.broken[0].api_version, "bad.io/v1");
}

TEST_F(DiscoveryTest, TheMapperAsksAgainOnAMiss) {
  RestMapper mapper(client());
  server->then(200, kCore).then(200, R"({"kind":"APIGroupDiscoveryList","items":[]})");
  EXPECT_EQ(loop.run(mapper.find("po")).resource.plural, "pods");
  EXPECT_EQ(loop.run(mapper.find("", "v1", "Pod")).resource.plural, "pods");
  EXPECT_EQ(server->seen.size(), 2U);  // known: not asked again
  server->then(200, kCore).then(200, kGroups);
  EXPECT_EQ(loop.run(mapper.find("hpa")).resource.group, "autoscaling");
  server->then(200, kCore).then(200, kGroups);
  try {
    loop.run(mapper.find("unicorns"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::NotFound);
    EXPECT_STREQ(error.what(), "the server has no resource \"unicorns\"; metrics.k8s.io/v1beta1 did not answer");
  }
}

TEST_F(DiscoveryTest, Version) {
  server->then(200, R"({"major":"1","minor":"37","gitVersion":"v1.37.1","platform":"linux/amd64"})");
  EXPECT_EQ(loop.run(server_version(client())).git_version, "v1.37.1");
}

TEST(ParseDiscoveryTest, RefusesOtherDocuments) {
  EXPECT_FALSE(parse_aggregated("{}"));
  EXPECT_FALSE(parse_aggregated("x"));
  EXPECT_FALSE(parse_legacy_resources(R"({"kind":"Status"})"));
}

}  // namespace
}  // namespace kopper::client
