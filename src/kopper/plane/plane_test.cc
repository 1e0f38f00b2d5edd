#include "kopper/plane/plane.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kopper/plane/addresses.h"

namespace kopper::plane {
namespace {

// A plane on a manual clock, asked without a network.
class PlaneTest : public testing::Test {
 protected:
  explicit PlaneTest(PlaneOptions options = PlaneOptions()) : plane_(std::move(options)) { loop_.run(plane_.start()); }

  struct Answer {
    int status = 0;
    json::Value body;
  };
  http::Response raw(std::string method, std::string target, std::string body = {},
                     std::string type = "application/json") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers.set("content-type", type);
    return loop_.run(plane_.handle(std::move(request)));
  }
  Answer ask(std::string method, std::string target, std::string body = {}, std::string type = "application/json") {
    http::Response response = raw(std::move(method), std::move(target), std::move(body), std::move(type));
    const std::string text = loop_.run(http::read_all(*response.body));
    auto value = json::parse(text);
    return {response.status, value ? std::move(*value) : json::Value(text)};
  }
  json::Value next_event(http::Body& body) {
    const auto chunk = loop_.run(body.read());
    return chunk ? json::parse(*chunk).value() : json::Value();
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  Plane plane_;
};

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

TEST_F(PlaneTest, KeepsWhatItIsGiven) {
  const Answer made = ask("POST", kMaps, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  ASSERT_EQ(made.status, 201) << json::dump(made.body);
  EXPECT_EQ(made.body.text("kind"), "ConfigMap");
  EXPECT_EQ(made.body["metadata"].text("creationTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(made.body["metadata"].text("uid").size(), 36U);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").body, made.body);
  EXPECT_EQ(ask("POST", kMaps, R"({"metadata":{"name":"a"}})").body.text("reason"), "AlreadyExists");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/b").body.text("message"), R"(configmaps "b" not found)");
}

// A cluster whose services are reached on this machine has them in 127.0.0.0/8.
class LoopbackServices : public PlaneTest {
 protected:
  LoopbackServices() : PlaneTest({.service_network = "127.96.0.0/28"}) {}
};

TEST_F(LoopbackServices, GetAddressesOfTheirNetwork) {
  const std::string path = "/api/v1/namespaces/default/services";
  EXPECT_EQ(ask("GET", path + "/kubernetes").body["spec"].text("clusterIP"), "127.96.0.1");
  const auto service = [&](int number, std::string_view address = "") {
    return ask("POST", path,
               fmt::format(R"({{"metadata":{{"name":"s{}"}},"spec":{{"clusterIP":"{}","ports":[{{"port":80}}]}}}})",
                           number, address));
  };
  EXPECT_EQ(service(0, "10.96.0.9").status, 422);
  EXPECT_EQ(service(0, "127.96.0.15").status, 422) << "the last one is for broadcasts";
  for (int i = 0; i < 13; ++i) {
    EXPECT_TRUE(service(i).body["spec"].text("clusterIP").starts_with("127.96.0.")) << i;
  }
}

TEST(ServiceRange, IsANetwork) {
  for (const char* bad :
       {"", "10.96.0.0", "10.96.0.1/16", "10.96.0.0/33", "10.0.0.0/8", "a.b.c.d/16", "10.96.0.0/1x"}) {
    EXPECT_THROW(ServiceRange{bad}, Error) << bad;
  }
  const ServiceRange range("10.96.0.0/16");
  EXPECT_EQ(range.at(257), "10.96.1.1");
  EXPECT_TRUE(range.holds("10.96.255.254"));
  for (const char* outside : {"10.96.0.0", "10.96.255.255", "10.97.0.1", "10.96.0", "10.96.0.1.2", "::1"}) {
    EXPECT_FALSE(range.holds(outside)) << outside;
  }
}

TEST_F(PlaneTest, SecondWriterOfTheSameVersionIsRefused) {
  const Answer made = ask("POST", kMaps, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  json::Value next = made.body;
  next["data"]["k"] = "w";
  EXPECT_EQ(ask("PUT", std::string(kMaps) + "/a", json::dump(next)).status, 200);
  const Answer late = ask("PUT", std::string(kMaps) + "/a", json::dump(next));
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.body.text("reason"), "Conflict");
}

TEST_F(PlaneTest, WriteThatChangesNothingKeepsTheVersion) {
  const Answer made = ask("POST", kMaps, R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  const Answer same = ask("PATCH", std::string(kMaps) + "/a", R"({"data":{"k":"v"}})", "application/merge-patch+json");
  EXPECT_EQ(same.body["metadata"].text("resourceVersion"), made.body["metadata"].text("resourceVersion"));
}

TEST_F(PlaneTest, PagesShowOneMoment) {
  for (const char* name : {"a", "b", "c"}) ask("POST", kMaps, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  const Answer first = ask("GET", std::string(kMaps) + "?limit=1");
  ASSERT_EQ(first.body["items"].as_array()->size(), 1U);
  EXPECT_EQ(*first.body["metadata"]["remainingItemCount"].as_int(), 2);
  ask("DELETE", std::string(kMaps) + "/b");
  ask("POST", kMaps, R"({"metadata":{"name":"bb"}})");
  const Answer second =
      ask("GET", std::string(kMaps) + "?limit=5&continue=" + http::escape(first.body["metadata"].text("continue")));
  ASSERT_EQ(second.body["items"].as_array()->size(), 2U);
  EXPECT_EQ(second.body["items"][0]["metadata"].text("name"), "b");
  EXPECT_EQ(second.body["items"][1]["metadata"].text("name"), "c");
  EXPECT_EQ(second.body["metadata"].text("resourceVersion"), first.body["metadata"].text("resourceVersion"));
}

TEST_F(PlaneTest, WatchShowsEachChangeInOrder) {
  http::Response stream = raw("GET", std::string(kMaps) + "?watch=1&resourceVersion=" +
                                         std::string(ask("GET", kMaps).body["metadata"].text("resourceVersion")));
  ask("POST", kMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(next_event(*stream.body).text("type"), "ADDED");
  ask("PATCH", std::string(kMaps) + "/a", R"({"data":{"k":"v"}})", "application/merge-patch+json");
  EXPECT_EQ(next_event(*stream.body).text("type"), "MODIFIED");
  ask("DELETE", std::string(kMaps) + "/a");
  const json::Value gone = next_event(*stream.body);
  EXPECT_EQ(gone.text("type"), "DELETED");
  EXPECT_EQ(gone["object"]["data"].text("k"), "v");
}

TEST_F(PlaneTest, FinalizerHoldsADeletion) {
  ask("POST", kMaps, R"({"metadata":{"name":"a","finalizers":["example.com/wait"]}})");
  EXPECT_EQ(ask("DELETE", std::string(kMaps) + "/a").body["metadata"].text("deletionTimestamp"),
            "2026-01-01T00:00:00Z");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 200);
  ask("PATCH", std::string(kMaps) + "/a", R"({"metadata":{"finalizers":null}})", "application/merge-patch+json");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 404);
}

TEST_F(PlaneTest, WhatNobodyOwnsGoes) {
  const Answer owner = ask("POST", kMaps, R"({"metadata":{"name":"owner"}})");
  const std::string refs = fmt::format(R"([{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{}"}}])",
                                       owner.body["metadata"].text("uid"));
  ask("POST", kMaps, fmt::format(R"({{"metadata":{{"name":"child","ownerReferences":{}}}}})", refs));
  loop_.poll();
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/child").status, 200);
  ask("DELETE", std::string(kMaps) + "/owner");
  loop_.poll();
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/child").status, 404);
}

TEST_F(PlaneTest, ForegroundOwnerGoesLast) {
  const Answer owner = ask("POST", kMaps, R"({"metadata":{"name":"owner"}})");
  const std::string refs =
      fmt::format(R"([{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{}","blockOwnerDeletion":true}}])",
                  owner.body["metadata"].text("uid"));
  ask("POST", kMaps,
      fmt::format(R"({{"metadata":{{"name":"child","finalizers":["example.com/wait"],"ownerReferences":{}}}}})", refs));
  ask("DELETE", std::string(kMaps) + "/owner?propagationPolicy=Foreground");
  loop_.poll();
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/owner").status, 200);
  EXPECT_NE(ask("GET", std::string(kMaps) + "/child").body["metadata"].text("deletionTimestamp"), "");
  ask("PATCH", std::string(kMaps) + "/child", R"({"metadata":{"finalizers":null}})", "application/merge-patch+json");
  loop_.poll();
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/child").status, 404);
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/owner").status, 404);
}

TEST_F(PlaneTest, OrphansStay) {
  const Answer owner = ask("POST", kMaps, R"({"metadata":{"name":"owner"}})");
  const std::string refs = fmt::format(R"([{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{}"}}])",
                                       owner.body["metadata"].text("uid"));
  ask("POST", kMaps, fmt::format(R"({{"metadata":{{"name":"child","ownerReferences":{}}}}})", refs));
  ask("DELETE", std::string(kMaps) + "/owner?propagationPolicy=Orphan");
  loop_.poll();
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/owner").status, 404);
  EXPECT_TRUE(ask("GET", std::string(kMaps) + "/child").body["metadata"]["ownerReferences"].is_null());
}

TEST_F(PlaneTest, NamespaceTakesItsContentAlong) {
  ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]}})");
  ask("POST", "/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"free"}})");
  ask("POST", "/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"held","finalizers":["example.com/wait"]}})");
  ask("DELETE", "/api/v1/namespaces/n");
  loop_.poll();
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/n").body["status"].text("phase"), "Terminating");
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/n/configmaps/free").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"late"}})").status, 403);
  ask("PATCH", "/api/v1/namespaces/n/configmaps/held", R"({"metadata":{"finalizers":null}})",
      "application/merge-patch+json");
  loop_.poll();
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/n").status, 404);
}

TEST_F(PlaneTest, DefinitionIsServedUntilItGoes) {
  const char* const definition =
      R"({"metadata":{"name":"toys.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"toys","kind":"Toy"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
    "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
      "size":{"type":"integer","minimum":1,"default":3}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})";
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const std::string toys = "/apis/example.com/v1/namespaces/default/toys";
  EXPECT_EQ(ask("GET", toys).status, 404);
  ASSERT_EQ(ask("POST", definitions, definition).status, 201);
  loop_.poll();
  EXPECT_EQ(ask("GET", toys).status, 200);
  const Answer made = ask(
      "POST", toys,
      R"({"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"ball"},"spec":{"lost":1},"status":{"no":1}})");
  ASSERT_EQ(made.status, 201) << json::dump(made.body);
  EXPECT_EQ(json::dump(made.body["spec"]), R"({"size":3})");
  EXPECT_TRUE(made.body["status"].is_null());
  EXPECT_EQ(*made.body["metadata"]["generation"].as_int(), 1);
  const Answer bad = ask("PATCH", toys + "/ball", R"({"spec":{"size":0}})", "application/merge-patch+json");
  EXPECT_EQ(bad.status, 422);
  EXPECT_EQ(
      bad.body.text("message"),
      R"(Toy.example.com "ball" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1)");
  const Answer status = ask("PATCH", toys + "/ball/status", R"({"status":{"ok":true},"spec":{"size":9}})",
                            "application/merge-patch+json");
  EXPECT_EQ(*status.body["spec"]["size"].as_int(), 3);
  EXPECT_EQ(*status.body["metadata"]["generation"].as_int(), 1);
  const Answer larger = ask("PATCH", toys + "/ball", R"({"spec":{"size":9}})", "application/merge-patch+json");
  EXPECT_EQ(*larger.body["metadata"]["generation"].as_int(), 2);
  const std::string now(larger.body["metadata"].text("resourceVersion"));
  const http::Response watch = raw("GET", toys + "?watch=1&resourceVersion=" + now);
  ask("DELETE", definitions + "/toys.example.com");
  loop_.poll();
  EXPECT_EQ(next_event(*watch.body).text("type"), "DELETED");
  EXPECT_TRUE(next_event(*watch.body).is_null()) << "a watch ends with what it watches";
  EXPECT_EQ(ask("GET", definitions + "/toys.example.com").status, 404);
  EXPECT_EQ(ask("GET", toys).status, 404);
}

TEST_F(PlaneTest, BothGroupsShowTheSameEvents) {
  const Answer made = ask(
      "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
      R"({"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","note":"hello","reason":"Because","type":"Normal","action":"Do",
                              "reportingController":"c","reportingInstance":"i","regarding":{"kind":"Pod","name":"p","namespace":"default"}})");
  ASSERT_EQ(made.status, 201) << json::dump(made.body);
  const Answer old = ask("GET", "/api/v1/namespaces/default/events/e");
  EXPECT_EQ(old.body.text("message"), "hello");
  EXPECT_EQ(old.body["involvedObject"].text("name"), "p");
  EXPECT_EQ(old.body.text("apiVersion"), "v1");
  EXPECT_EQ(ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e").body.text("note"), "hello");
}

TEST_F(PlaneTest, ScaleIsANumberOfTheObject) {
  const std::string path = "/apis/apps/v1/namespaces/default/deployments";
  ask("POST", path,
      R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"d"}},"template":{"metadata":{"labels":{"app":"d"}},
      "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  const Answer now = ask("GET", path + "/d/scale");
  EXPECT_EQ(*now.body["spec"]["replicas"].as_int(), 2) << json::dump(now.body);
  EXPECT_EQ(now.body["status"].text("selector"), "app=d");
  ask("PATCH", path + "/d/scale", R"({"spec":{"replicas":5}})", "application/merge-patch+json");
  const Answer after = ask("GET", path + "/d");
  EXPECT_EQ(*after.body["spec"]["replicas"].as_int(), 5);
  EXPECT_EQ(*after.body["metadata"]["generation"].as_int(), 2);
}

TEST_F(PlaneTest, ServicesGetAddressesOfTheirOwn) {
  const std::string path = "/api/v1/namespaces/default/services";
  const auto service = [](const char* name, const char* more) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{{}"ports":[{{"port":80}}]}}}})", name, more);
  };
  const Answer one = ask("POST", path, service("one", R"("type":"NodePort",)"));
  const Answer two = ask("POST", path, service("two", R"("type":"NodePort",)"));
  ASSERT_EQ(one.status, 201) << json::dump(one.body);
  const std::string address(one.body["spec"].text("clusterIP"));
  EXPECT_TRUE(address.starts_with("10.96.")) << address;
  EXPECT_NE(address, two.body["spec"].text("clusterIP"));
  EXPECT_NE(one.body["spec"]["ports"][0]["nodePort"], two.body["spec"]["ports"][0]["nodePort"]);
  const Answer taken = ask("POST", path, service("three", fmt::format(R"("clusterIP":"{}",)", address).c_str()));
  EXPECT_EQ(taken.status, 422);
  EXPECT_NE(taken.body.text("message").find("provided IP is already allocated"), std::string::npos)
      << taken.body.text("message");
  ask("DELETE", path + "/one");
  EXPECT_EQ(ask("POST", path, service("three", fmt::format(R"("clusterIP":"{}",)", address).c_str())).status, 201);
  EXPECT_EQ(ask("POST", path, service("four", R"("clusterIP":"None",)")).body["spec"].text("clusterIP"), "None");
}

}  // namespace
}  // namespace kopper::plane
