#include "kopper/client/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/fake_server.h"
#include "kopper/client/status.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Metadata {
  std::string name;
  std::string namespace_;
  std::string resourceVersion;
  std::map<std::string, std::string> labels;
};
struct WidgetSpec {
  int size = 1;
  std::string color;
};
// Knows less than the server: `weight` is missing.
struct Widget {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  Metadata metadata;
  WidgetSpec spec;
};

std::string stored(int size, std::string_view version = "5") {
  return fmt::format(
      R"({{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"a","namespace":"n","resourceVersion":"{}"}},)"
      R"("spec":{{"size":{},"weight":9}}}})",
      version, size);
}

Widget widget(int size, std::string version = "") {
  return {.metadata = {.name = "a", .namespace_ = "n", .resourceVersion = std::move(version)}, .spec = {.size = size}};
}

struct ApiTest : testing::Test {
  Api<Widget> widgets() { return client.of<Widget>(); }
  Api<json::Value> values() { return client.of(resource_of<Widget>()); }
  json::Value body(std::size_t index) { return *json::parse(server->seen.at(index).body); }

  rt::Loop loop;
  std::shared_ptr<FakeServer> server = std::make_shared<FakeServer>();
  Client client{server, {.field_manager = "tester", .max_retries = 0}};
};

TEST_F(ApiTest, GetAndFind) {
  server->then(200, stored(3))
      .then(404, status_json(404, "NotFound", "widgets \\\"a\\\" not found"))
      .then(404, "404 page not found");
  EXPECT_EQ(loop.run(widgets().get(Key("n", "a"))).spec.size, 3);
  EXPECT_EQ(server->target(0), "/apis/example.com/v1/namespaces/n/widgets/a");
  EXPECT_FALSE(loop.run(widgets().find(Key("n", "a"))));
  EXPECT_THROW(loop.run(widgets().find(Key("n", "a"))), Error);  // the kind is missing, not the object
}

TEST_F(ApiTest, ListReadsAllPages) {
  server
      ->then(
          200,
          R"({"kind":"WidgetList","metadata":{"resourceVersion":"9","continue":"t"},"items":[{"metadata":{"name":"a"},"spec":{"size":1}}]})")
      .then_pieces({R"({"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"b"},)",
                    R"("spec":{"size":2}},{"metadata":)", R"({"name":"bad","namespace":"n"},"spec":{"size":"x"}}]})"});
  const auto list = loop.run(widgets().list({.namespace_ = "n", .page_size = 1}));
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[1].metadata.name, "b");
  EXPECT_EQ(list.items[1].spec.size, 2);
  EXPECT_EQ(list.resource_version, "9");
  ASSERT_EQ(list.bad.size(), 1U);
  EXPECT_THAT(list.bad[0].what(), testing::StartsWith("n/bad: spec.size: "));
  EXPECT_THAT(server->target(1), HasSubstr("continue=t"));
}

TEST_F(ApiTest, AnExpiredTokenBeginsAnewOnce) {
  server->then(200, R"({"metadata":{"resourceVersion":"9","continue":"t"},"items":[{"metadata":{"name":"a"}}]})")
      .then(410, status_json(410, "Expired", "the continue token is too old"))
      .then(200,
            R"({"metadata":{"resourceVersion":"20"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})");
  const auto list = loop.run(widgets().list());
  EXPECT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.resource_version, "20");
  EXPECT_THAT(server->target(2), Not(HasSubstr("limit")));
}

TEST_F(ApiTest, DynamicListItemsKnowTheirKind) {
  server->then(200, R"({"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}}]})");
  const auto list = loop.run(values().list());
  EXPECT_EQ(json::dump(list.items.at(0)), R"({"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}})");
}

TEST_F(ApiTest, Create) {
  server->then(201, stored(1))
      .then(409, status_json(409, "AlreadyExists", "it is there"))
      .then(409, status_json(409, "AlreadyExists", "it is there"));
  EXPECT_EQ(loop.run(widgets().create(widget(1))).metadata.resourceVersion, "5");
  EXPECT_EQ(server->target(0), "/apis/example.com/v1/namespaces/n/widgets?fieldManager=tester");
  EXPECT_EQ(body(0).text("kind"), "Widget");
  EXPECT_FALSE(loop.run(widgets().create_if_absent(widget(1))));
  EXPECT_THROW(loop.run(widgets().create(widget(1))), Error);
}

TEST_F(ApiTest, UpdateKeepsWhatTheTypeDoesNotKnow) {
  server->then(200, stored(1)).then(200, stored(4, "6"));
  const auto updated = loop.run(widgets().update(widget(4, "5")));
  ASSERT_TRUE(updated);
  EXPECT_EQ(updated->metadata.resourceVersion, "6");
  EXPECT_EQ(server->seen[1].method, "PUT");
  EXPECT_EQ(body(1)["spec"]["size"], json::Value(4));
  EXPECT_EQ(body(1)["spec"]["weight"], json::Value(9));
  EXPECT_EQ(body(1)["metadata"].text("resourceVersion"), "5");
}

TEST_F(ApiTest, UpdateWithoutAVersionReplacesWhateverIsThere) {
  server->then(200, stored(1))
      .then(409, status_json(409, "Conflict", "modified"))
      .then(200, stored(2, "8"))
      .then(200, stored(4, "9"));
  EXPECT_TRUE(loop.run(widgets().update(widget(4))));
  EXPECT_EQ(body(1)["metadata"].text("resourceVersion"), "5");
  EXPECT_EQ(body(3)["metadata"].text("resourceVersion"), "8");
  EXPECT_EQ(body(3)["spec"]["weight"], json::Value(9));
}

TEST_F(ApiTest, ConflictIsAValue) {
  server->then(200, stored(1)).then(409, status_json(409, "Conflict", "the object has been modified"));
  const auto updated = loop.run(widgets().update(widget(4, "4")));
  ASSERT_FALSE(updated);
  EXPECT_EQ(updated.error().error.reason, "Conflict");
}

TEST_F(ApiTest, ModifyTriesAgain) {
  server->then(200, stored(1))
      .then(409, status_json(409, "Conflict", "modified"))
      .then(200, stored(7, "8"))
      .then(200, stored(8, "9"));
  const auto updated = loop.run(widgets().modify(Key("n", "a"), [](Widget& w) { ++w.spec.size; }));
  EXPECT_EQ(updated.spec.size, 8);
  EXPECT_EQ(body(3)["spec"]["size"], json::Value(8));
  EXPECT_EQ(body(3)["metadata"].text("resourceVersion"), "8");
}

TEST_F(ApiTest, ModifyWithoutAChangeWritesNothing) {
  server->then(200, stored(1));
  EXPECT_EQ(loop.run(widgets().modify(Key("n", "a"), [](Widget& w) { w.spec.size = 1; })).spec.size, 1);
  EXPECT_EQ(server->seen.size(), 1U);
}

TEST_F(ApiTest, Patch) {
  server->then(200, stored(3));
  const json::Value patch{json::Object{{"spec", json::Object{{"size", 3}}}}};
  EXPECT_EQ(loop.run(widgets().patch(Key("n", "a"), PatchType::Merge, patch)).spec.size, 3);
  EXPECT_EQ(server->seen[0].body, R"({"spec":{"size":3}})");
  EXPECT_EQ(server->target(0), "/apis/example.com/v1/namespaces/n/widgets/a?fieldManager=tester");
}

TEST_F(ApiTest, Apply) {
  server->then(200, stored(3))
      .then(409,
            R"({"kind":"Status","apiVersion":"v1","code":409,"reason":"Conflict","message":"Apply failed","details":{
    "causes":[{"reason":"FieldManagerConflict","message":"conflict with \"kubectl\" using v1","field":".spec.size"}]}})");
  EXPECT_EQ(loop.run(widgets().apply(widget(3), {.force = true})).spec.size, 3);
  EXPECT_EQ(server->target(0), "/apis/example.com/v1/namespaces/n/widgets/a?fieldManager=tester&force=true");
  EXPECT_EQ(body(0).text("apiVersion"), "example.com/v1");
  try {
    loop.run(widgets().apply(widget(3)));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Conflict);
    EXPECT_EQ(manager_of(error.causes.at(0)), "kubectl");
  }
}

TEST_F(ApiTest, WhatWasReadCanBeApplied) {
  server->then(200, stored(3));
  auto live = *json::parse(stored(3));
  live["metadata"]["managedFields"] = json::Array{};
  loop.run(values().apply(live));
  EXPECT_TRUE(body(0)["metadata"]["managedFields"].is_null());
}

TEST_F(ApiTest, Remove) {
  server->then(200, "{}")
      .then(404, status_json(404, "NotFound", "not found"))
      .then(409, status_json(409, "Conflict", "the UID differs"));
  EXPECT_TRUE(loop.run(widgets().remove(Key("n", "a"))));
  EXPECT_FALSE(loop.run(widgets().remove(Key("n", "a"))));
  EXPECT_THROW(loop.run(widgets().remove(Key("n", "a"), {.uid = "u"})), Error);
}

TEST_F(ApiTest, RemoveWithAnswer) {
  server->then(200, R"({"kind":"Status"})").then(404, status_json(404, "NotFound", "not found"));
  EXPECT_EQ(loop.run(widgets().raw().remove_with_answer(Key("n", "a"), {})), R"({"kind":"Status"})");
  EXPECT_EQ(loop.run(widgets().raw().remove_with_answer(Key("n", "a"), {})), std::nullopt);
}

TEST_F(ApiTest, RemoveAll) {
  server->then(200, "{}");
  loop.run(widgets().remove_all({.namespace_ = "n", .label_selector = "a=b"}));
  EXPECT_EQ(server->target(0), "/apis/example.com/v1/namespaces/n/widgets?labelSelector=a%3Db");
}

TEST_F(ApiTest, Scale) {
  server->then(200, R"({"kind":"Scale","spec":{"replicas":3},"status":{"replicas":2,"selector":"a=b"}})")
      .then(200, R"({"spec":{"replicas":4}})");
  const auto scale = loop.run(widgets().scale(Key("n", "a")));
  EXPECT_EQ(scale.replicas, 3);
  EXPECT_EQ(scale.current_replicas, 2);
  EXPECT_EQ(scale.selector, "a=b");
  EXPECT_EQ(loop.run(widgets().set_scale(Key("n", "a"), 4)).replicas, 4);
  EXPECT_EQ(server->seen[1].body, R"({"spec":{"replicas":4}})");
}

TEST_F(ApiTest, ABrokenAnswerIsAnError) {
  server->then(200, "<html>");
  EXPECT_THROW(loop.run(widgets().get(Key("n", "a"))), Error);
  server->then(200, R"({"kind":"Status"})");
  EXPECT_THROW(loop.run(widgets().list()), Error);
}

}  // namespace
}  // namespace kopper::client
