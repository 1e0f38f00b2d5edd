#include "kopper/client/request.h"

#include <functional>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"

namespace kopper::client {
namespace {

const Resource kPods{.group = "", .version = "v1", .plural = "pods", .kind = "Pod", .namespaced = true};
const Resource kDeployments{
    .group = "apps", .version = "v1", .plural = "deployments", .kind = "Deployment", .namespaced = true};
const Resource kNodes{.group = "", .version = "v1", .plural = "nodes", .kind = "Node", .namespaced = false};

TEST(ResourceTest, Paths) {
  EXPECT_EQ(kPods.collection_path(""), "/api/v1/pods");
  EXPECT_EQ(kPods.collection_path("a"), "/api/v1/namespaces/a/pods");
  EXPECT_EQ(kDeployments.object_path({"a", "b"}), "/apis/apps/v1/namespaces/a/deployments/b");
  EXPECT_EQ(kDeployments.object_path({"a", "b"}, "status"), "/apis/apps/v1/namespaces/a/deployments/b/status");
  EXPECT_EQ(kNodes.object_path({"", "n"}), "/api/v1/nodes/n");
  EXPECT_EQ(kNodes.collection_path(""), "/api/v1/nodes");
  EXPECT_EQ(kDeployments.name(), "deployments.apps");
  EXPECT_EQ(kDeployments.api_version(), "apps/v1");
}

// RBAC names have colons; nobody's input may leave its place in the path.
TEST(ResourceTest, NamesAreEscaped) {
  EXPECT_EQ(kNodes.object_path({"", "system:x"}), "/api/v1/nodes/system%3Ax");
  EXPECT_EQ(kPods.object_path({"a/../b", "c?d"}), "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd");
}

TEST(ResourceTest, RefusesKeysThatNameNoObject) {
  const auto message = [](const Resource& resource, const Key& key) -> std::string {
    try {
      return resource.object_path(key);
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::Invalid);
      return error.what();
    }
  };
  EXPECT_EQ(message(kPods, {"", "x"}), "pods \"x\": the namespace is empty");
  EXPECT_EQ(message(kDeployments, {"a", ""}), "deployments.apps \"a/\": the name is empty");
  EXPECT_EQ(message(kPods, {"a", ".."}), "pods \"a/..\": not a name");
  EXPECT_EQ(message(kNodes, {"a", "x"}), "nodes \"a/x\": the kind is cluster-scoped, but a namespace is given");
}

struct Case {
  const char* name;
  std::function<http::Request()> build;
  const char* method;
  const char* target;
  const char* body = "";
  const char* content_type = "";
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class RequestTest : public testing::TestWithParam<Case> {};

TEST_P(RequestTest, Is) {
  const auto& c = GetParam();
  const auto made = c.build();
  EXPECT_EQ(made.method, c.method);
  EXPECT_EQ(made.target, c.target);
  EXPECT_EQ(made.body, c.body);
  EXPECT_EQ(made.headers.get("content-type").value_or(""), c.content_type);
}

const Key kKey{"ns", "x"};
constexpr const char* kJson = "application/json";

INSTANTIATE_TEST_SUITE_P(
    Verbs, RequestTest,
    testing::Values(
        Case{"Get", [] { return get_request(kPods, kKey, {}); }, "GET", "/api/v1/namespaces/ns/pods/x"},
        Case{"GetCached", [] { return get_request(kPods, kKey, {.resource_version = "0"}); }, "GET",
             "/api/v1/namespaces/ns/pods/x?resourceVersion=0"},
        Case{"GetScale", [] { return get_request(kDeployments, kKey, {.subresource = "scale"}); }, "GET",
             "/apis/apps/v1/namespaces/ns/deployments/x/scale"},
        Case{"List", [] { return list_request(kPods, {}); }, "GET", "/api/v1/pods?limit=500"},
        Case{"ListSelected",
             [] {
               return list_request(kPods, {.namespace_ = "ns",
                                           .label_selector = "app in (a,b),!old",
                                           .field_selector = "spec.nodeName=n",
                                           .page_size = 0,
                                           .resource_version = "7",
                                           .version_match = VersionMatch::Exact});
             },
             "GET",
             "/api/v1/namespaces/ns/pods?labelSelector=app%20in%20%28a%2Cb%29%2C%21old&fieldSelector=spec.nodeName%3Dn"
             "&resourceVersion=7&resourceVersionMatch=Exact"},
        Case{"ListNextPage",
             [] {
               return list_request(kPods, {.resource_version = "7", .version_match = VersionMatch::NotOlderThan},
                                   "t/=");
             },
             "GET", "/api/v1/pods?limit=500&continue=t%2F%3D"},
        Case{"Watch",
             [] { return watch_request(kPods, {.resource_version = "7", .timeout = std::chrono::seconds(300)}); },
             "GET", "/api/v1/pods?watch=true&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=300"},
        Case{"WatchList", [] { return watch_request(kPods, {.bookmarks = false, .initial_events = true}); }, "GET",
             "/api/v1/"
             "pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"},
        Case{"Create",
             [] {
               return create_request(
                   kPods, kKey, "{}",
                   {.field_manager = "me", .dry_run = true, .field_validation = FieldValidation::Strict});
             },
             "POST", "/api/v1/namespaces/ns/pods?dryRun=All&fieldManager=me&fieldValidation=Strict", "{}", kJson},
        Case{"CreateSubresource", [] { return create_request(kPods, kKey, "{}", {.subresource = "binding"}); }, "POST",
             "/api/v1/namespaces/ns/pods/x/binding", "{}", kJson},
        Case{"Update", [] { return update_request(kPods, kKey, "{}", {.subresource = "status"}); }, "PUT",
             "/api/v1/namespaces/ns/pods/x/status", "{}", kJson},
        Case{"JsonPatch", [] { return patch_request(kPods, kKey, PatchType::Json, "[]", {}); }, "PATCH",
             "/api/v1/namespaces/ns/pods/x", "[]", "application/json-patch+json"},
        Case{"MergePatch",
             [] {
               return patch_request(kPods, kKey, PatchType::Merge, "{}", {.field_validation = FieldValidation::Warn});
             },
             "PATCH", "/api/v1/namespaces/ns/pods/x?fieldValidation=Warn", "{}", "application/merge-patch+json"},
        Case{"StrategicPatch", [] { return patch_request(kPods, kKey, PatchType::Strategic, "{}", {}); }, "PATCH",
             "/api/v1/namespaces/ns/pods/x", "{}", "application/strategic-merge-patch+json"},
        Case{"Apply",
             [] {
               return apply_request(kPods, kKey, "{}", {.field_manager = "me", .force = true, .subresource = "status"});
             },
             "PATCH", "/api/v1/namespaces/ns/pods/x/status?fieldManager=me&force=true", "{}",
             "application/apply-patch+yaml"}));

INSTANTIATE_TEST_SUITE_P(
    Deletes, RequestTest,
    testing::Values(
        Case{"Delete", [] { return delete_request(kPods, kKey, {}); }, "DELETE", "/api/v1/namespaces/ns/pods/x",
             R"({"apiVersion":"v1","kind":"DeleteOptions"})", kJson},
        Case{"DeleteWithAll",
             [] {
               return delete_request(kPods, kKey,
                                     {.propagation = Propagation::Foreground,
                                      .grace_period_seconds = 0,
                                      .uid = "u",
                                      .resource_version = "9",
                                      .dry_run = true});
             },
             "DELETE", "/api/v1/namespaces/ns/pods/x",
             R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Foreground","gracePeriodSeconds":0,)"
             R"("preconditions":{"uid":"u","resourceVersion":"9"},"dryRun":["All"]})",
             kJson},
        Case{"DeleteCollection",
             [] { return delete_collection_request(kPods, {.namespace_ = "ns", .label_selector = "a=b"}, {}); },
             "DELETE", "/api/v1/namespaces/ns/pods?labelSelector=a%3Db",
             R"({"apiVersion":"v1","kind":"DeleteOptions"})", kJson},
        Case{"Evict", [] { return evict_request(kKey, {.grace_period_seconds = 5}); }, "POST",
             "/api/v1/namespaces/ns/pods/x/eviction",
             R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"x","namespace":"ns"},)"
             R"("deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":5}})",
             kJson}));

INSTANTIATE_TEST_SUITE_P(
    Pods, RequestTest,
    testing::Values(
        Case{"Log", [] { return log_request(kKey, {}); }, "GET", "/api/v1/namespaces/ns/pods/x/log"},
        Case{"LogWithAll",
             [] {
               return log_request(kKey, {.container = "c",
                                         .follow = true,
                                         .previous = true,
                                         .timestamps = true,
                                         .tail_lines = 0,
                                         .limit_bytes = 10,
                                         .since = std::chrono::minutes(1)});
             },
             "GET",
             "/api/v1/namespaces/ns/pods/x/log?container=c&follow=true&previous=true&timestamps=true&tailLines=0"
             "&limitBytes=10&sinceSeconds=60"},
        Case{"Exec", [] { return exec_request(kKey, {.command = {"sh", "-c", "echo 1"}, .stdin_ = true}); }, "GET",
             "/api/v1/namespaces/ns/pods/x/"
             "exec?command=sh&command=-c&command=echo%201&stdin=true&stdout=true&stderr=true"},
        Case{"ExecTty",
             [] { return exec_request(kKey, {.command = {"sh"}, .container = "c", .stdin_ = true, .tty = true}); },
             "GET", "/api/v1/namespaces/ns/pods/x/exec?command=sh&container=c&stdin=true&stdout=true&tty=true"},
        Case{"Attach", [] { return attach_request(kKey, {}); }, "GET",
             "/api/v1/namespaces/ns/pods/x/attach?stdout=true&stderr=true"},
        Case{"PortForward", [] { return port_forward_request(kKey, {80, 443}); }, "GET",
             "/api/v1/namespaces/ns/pods/x/portforward?ports=80&ports=443"}));

TEST(RequestAcceptTest, MetadataOnly) {
  EXPECT_EQ(get_request(kPods, kKey, {}, View::Metadata).headers.get("accept"),
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(list_request(kPods, {}, "", View::Metadata).headers.get("accept"),
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(get_request(kPods, kKey, {}).headers.get("accept"), "application/json");
}

TEST(RequestLongRunningTest, OnlyStreams) {
  EXPECT_TRUE(watch_request(kPods, {}).long_running);
  EXPECT_TRUE(log_request(kKey, {}).long_running);
  EXPECT_FALSE(list_request(kPods, {}).long_running);
}

TEST(RequestRefusedTest, WhatCannotWork) {
  EXPECT_THROW(create_request(kPods, {"", "x"}, "{}", {}), Error);
  EXPECT_THROW(exec_request(kKey, {}), Error);
}

}  // namespace
}  // namespace kopper::client
