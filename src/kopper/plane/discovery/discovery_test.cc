#include "kopper/plane/discovery/discovery.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kopper/plane/status.h"
#include "kopper/rt/loop.h"

namespace kopper::plane {
namespace {

constexpr const char* kAggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

class DiscoveryTest : public testing::Test {
 protected:
  http::Response ask(std::string target, http::Headers headers = {}, std::string method = "GET") {
    Call call;
    call.request.method = std::move(method);
    call.request.target = std::move(target);
    call.request.headers = std::move(headers);
    call.info = request_info(call.request);
    auto out = discovery_.answer(call);
    if (!out) return http::text_response(0, "");
    return std::move(*out);
  }
  std::string text(http::Response response) { return loop_.run(http::read_all(*response.body)); }
  json::Value document(std::string target, http::Headers headers = {}) {
    return json::parse(text(ask(std::move(target), std::move(headers)))).value();
  }
  void add_custom(const char* group, const char* kind, const char* plural) {
    auto resource = std::make_shared<Resource>();
    resource->group = group;
    resource->version = "v1";
    resource->plural = plural;
    resource->singular = "one";
    resource->kind = kind;
    resource->subresources = {"scale", "status"};
    resource->custom = std::make_shared<Custom>();
    catalog_.add(resource);
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  Catalog catalog_;
  Discovery discovery_{catalog_, "v1.37.1"};
};

const json::Value& named(const json::Value& list, std::string_view key, std::string_view name) {
  static const json::Value kNone;
  for (const json::Value& one : *list.as_array())
    if (one.text(key) == name) return one;
  return kNone;
}

TEST_F(DiscoveryTest, ListsGroupsInTheServersOrder) {
  EXPECT_EQ(json::dump(document("/api")["versions"]), R"(["v1"])");
  add_custom("z.example.com", "Zebra", "zebras");
  add_custom("a.example.com", "Ape", "apes");
  const json::Value all = document("/apis");
  std::vector<std::string> names;
  for (const json::Value& group : *all["groups"].as_array()) names.emplace_back(group.text("name"));
  EXPECT_EQ(names,
            (std::vector<std::string>{"apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io",
                                      "authorization.k8s.io", "autoscaling", "batch", "networking.k8s.io", "policy",
                                      "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
                                      "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io",
                                      "discovery.k8s.io", "z.example.com", "a.example.com"}));
  EXPECT_EQ(text(ask("/apis/apps")),
            R"({"kind":"APIGroup","apiVersion":"v1","name":"apps","versions":[{"groupVersion":"apps/v1",)"
            R"("version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}})"
            "\n");
}

TEST_F(DiscoveryTest, DescribesResourcesAndTheirParts) {
  const json::Value core = document("/api/v1");
  EXPECT_EQ(core.text("groupVersion"), "v1");
  EXPECT_EQ(json::dump(named(core["resources"], "name", "pods")),
            R"({"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["create","delete",)"
            R"("deletecollection","get","list","patch","update","watch"],"shortNames":["po"],"categories":["all"],)"
            R"("storageVersionHash":"xPOwRZ+Yhw8="})");
  EXPECT_EQ(json::dump(named(core["resources"], "name", "pods/eviction")),
            R"({"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1",)"
            R"("kind":"Eviction","verbs":["create"]})");
  EXPECT_EQ(named(core["resources"], "name", "pods/exec").text("kind"), "PodExecOptions");
  EXPECT_EQ(named(core["resources"], "name", "services/proxy").text("kind"), "ServiceProxyOptions");
  EXPECT_EQ(json::dump(named(document("/apis/apps/v1")["resources"], "name", "deployments/scale")),
            R"({"name":"deployments/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1",)"
            R"("kind":"Scale","verbs":["get","patch","update"]})");
}

TEST_F(DiscoveryTest, CustomResourcesHaveVerbsInTheirOwnOrder) {
  add_custom("a.example.com", "Ape", "apes");
  const json::Value list = document("/apis/a.example.com/v1");
  EXPECT_EQ(json::dump(list["resources"][0]["verbs"]),
            R"(["delete","deletecollection","get","list","patch","create","update","watch"])");
  EXPECT_EQ(list["resources"][1].text("name"), "apes/status");
  EXPECT_EQ(list["resources"][2].text("name"), "apes/scale");
}

TEST_F(DiscoveryTest, AggregatesWhenAsked) {
  add_custom("z.example.com", "Zebra", "zebras");
  add_custom("a.example.com", "Ape", "apes");
  const http::Response response = ask("/apis", {{"accept", kAggregated}});
  EXPECT_EQ(response.headers.get("content-type"),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  const json::Value all = document("/apis", {{"accept", kAggregated}});
  EXPECT_EQ(all.text("apiVersion"), "apidiscovery.k8s.io/v2");
  const json::Array& items = *all["items"].as_array();
  EXPECT_EQ(items[items.size() - 2]["metadata"].text("name"), "a.example.com");
  EXPECT_EQ(items[items.size() - 1]["metadata"].text("name"), "z.example.com");
  EXPECT_EQ(json::dump(items.back()["versions"][0]["resources"][0]["responseKind"]),
            R"({"group":"z.example.com","version":"v1","kind":"Zebra"})");
  const json::Value core = document("/api", {{"accept", kAggregated}});
  EXPECT_EQ(json::dump(core["items"][0]["metadata"]), "{}");
  const json::Value& pods = named(core["items"][0]["versions"][0]["resources"], "resource", "pods");
  EXPECT_EQ(json::dump(pods["responseKind"]), R"({"group":"","version":"","kind":"Pod"})");
  EXPECT_EQ(pods.text("scope"), "Namespaced");
  EXPECT_EQ(json::dump(named(pods["subresources"], "subresource", "eviction")),
            R"({"subresource":"eviction","responseKind":{"group":"policy","version":"v1","kind":"Eviction"},)"
            R"("verbs":["create"]})");
  // Whoever names plain JSON first gets that.
  EXPECT_EQ(document("/apis", {{"accept", std::string("application/json,") + kAggregated}}).text("kind"),
            "APIGroupList");
}

TEST_F(DiscoveryTest, SaysWhenNothingChanged) {
  const http::Response first = ask("/apis", {{"accept", kAggregated}});
  const std::string etag(first.headers.get("etag").value());
  const http::Headers again{{"accept", kAggregated}, {"if-none-match", etag}};
  EXPECT_EQ(ask("/apis", again).status, 304);
  add_custom("a.example.com", "Ape", "apes");
  const http::Response changed = ask("/apis", again);
  EXPECT_EQ(changed.status, 200);
  EXPECT_NE(changed.headers.get("etag"), etag);
}

TEST_F(DiscoveryTest, RefusesWhatTheServerRefuses) {
  EXPECT_EQ(ask("/apis/nobody.example.com").status, 404);
  EXPECT_EQ(ask("/apis/apps/v2").status, 404);
  EXPECT_EQ(text(ask("/api/v2")), "404 page not found\n");
  EXPECT_EQ(ask("/openapi/v2").status, 0);  // somebody else's
  const auto code = [&](std::string target, http::Headers headers, std::string method) {
    try {
      return ask(std::move(target), std::move(headers), std::move(method)).status;
    } catch (const Refusal& refusal) {
      return refusal.code;
    }
  };
  EXPECT_EQ(code("/apis", {{"accept", "text/html"}}, "GET"), 406);
  EXPECT_EQ(code("/version", {{"accept", "application/yaml"}}, "GET"), 406);
  EXPECT_EQ(code("/api/v1", {}, "POST"), 405);
  EXPECT_EQ(code("/version", {}, "DELETE"), 405);
}

TEST_F(DiscoveryTest, TellsVersionAndPaths) {
  const json::Value version = document("/version");
  EXPECT_EQ(version.text("minor"), "37");
  EXPECT_EQ(version.text("gitVersion"), "v1.37.1+kopper");
  const json::Value root = document("/");
  EXPECT_NE(std::ranges::find(*root["paths"].as_array(), json::Value("/apis/apps/v1")),
            root["paths"].as_array()->end());
}

}  // namespace
}  // namespace kopper::plane
