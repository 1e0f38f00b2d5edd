#include "kopper/runtime/trigger.h"

#include <chrono>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/object.h"
#include "kopper/base/error.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using cache::Change;
using cache::Record;
using cache::RecordRef;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Kind kMemcached{"cache.example.com", "v1alpha1", "Memcached"};
constexpr Kind kDeployment{"apps", "v1", "Deployment"};
constexpr Kind kCluster{.group = "example.com", .version = "v1", .kind = "Fleet", .scope = Scope::Cluster};

struct Spec {
  std::vector<std::string> users;
};
struct Widget {
  static constexpr Kind kind{"example.com", "v1", "Widget"};
  api::metav1::ObjectMeta metadata;
  Spec spec;
};

RecordRef object(std::string_view metadata, std::string_view spec = "{}") {
  return *Record::make(
      fmt::format(R"({{"metadata":{{"name":"demo","namespace":"default",{}}},"spec":{}}})", metadata, spec));
}
RecordRef owned_by(std::string_view references) {
  return object(fmt::format(R"("uid":"d","ownerReferences":[{}])", references));
}

Change created_now(RecordRef after) { return {.before = {}, .after = std::move(after)}; }

const auto kOne = object(R"("uid":"u","resourceVersion":"1","generation":3)");
const auto kTwo = object(R"("uid":"u","resourceVersion":"2","generation":4,"labels":{"a":"b"})");

TEST(Trigger, SelfSaysWhatHappened) {
  const auto self = for_self(kMemcached);
  const Key key("default", "demo");
  EXPECT_THAT(requests(self, created_now(kOne)), ElementsAre(Request(key, "created")));
  EXPECT_THAT(requests(self, {.before = {}, .after = kOne, .initial = true}),
              ElementsAre(Request(key, "initial list", kLowPriority)));
  EXPECT_THAT(requests(self, {.before = kOne, .after = kTwo}),
              ElementsAre(Request(key, "updated (generation 3 -> 4, labels)")));
  EXPECT_THAT(requests(self, {.before = kOne, .after = kOne}), ElementsAre(Request(key, "resync", kLowPriority)));
  EXPECT_THAT(requests(self, {.before = kOne, .after = {}}), ElementsAre(Request(key, "deleted")));
  EXPECT_THAT(requests(self, {.before = kOne, .after = {}, .initial = false, .missed = true}),
              ElementsAre(Request(key, "deleted while nobody watched")));
  EXPECT_EQ(reason_for(self, {.before = kOne, .after = object(R"("uid":"v")")}), "deleted and created again");
  EXPECT_EQ(
      reason_for(self, {.before = kOne, .after = object(R"("uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z")")}),
      "deletion requested");
}

TEST(Trigger, ReasonsOfTheRuntime) {
  EXPECT_EQ(reason_for_retry(3), "retry 3 after error");
  EXPECT_EQ(reason_for_delay(30s), "requested after 30s");
  EXPECT_EQ(reason_for_delay(500ms), "requested after 0.5s");
}

constexpr std::string_view kByController =
    R"({"apiVersion":"cache.example.com/v1","kind":"Memcached","name":"owner","uid":"o","controller":true})";
constexpr std::string_view kByOther =
    R"({"apiVersion":"cache.example.com/v1","kind":"Memcached","name":"other","uid":"p"})";
constexpr std::string_view kForeign =
    R"({"apiVersion":"other.example.com/v1","kind":"Memcached","name":"foreign","uid":"q","controller":true})";

TEST(Trigger, OwnerIsTheControllerOfThatGroupAndKindInAnyVersion) {
  const auto owner = for_owner(kDeployment, kMemcached);
  EXPECT_THAT(requests(owner, created_now(owned_by(fmt::format("{},{}", kByOther, kByController)))),
              ElementsAre(Request({"default", "owner"}, "Deployment default/demo created")));
  EXPECT_THAT(requests(owner, created_now(owned_by(kForeign))), IsEmpty());
  EXPECT_THAT(requests(owner, created_now(kOne)), IsEmpty());
}

TEST(Trigger, EveryOwnerWhenAsked) {
  const auto owner = for_owner(kDeployment, kMemcached, {.only_controller = false});
  const Change change = created_now(owned_by(fmt::format("{},{},{}", kByOther, kForeign, kByOther)));
  EXPECT_THAT(requests(owner, change), ElementsAre(Request({"default", "other"}, "Deployment default/demo created")));
}

TEST(Trigger, AClusterScopedOwnerHasNoNamespace) {
  const auto owner = for_owner(kDeployment, kCluster);
  const auto owned =
      owned_by(R"({"apiVersion":"example.com/v1","kind":"Fleet","name":"f","uid":"o","controller":true})");
  EXPECT_EQ(requests(owner, created_now(owned)).at(0).key, Key("", "f"));
}

TEST(Trigger, WhoLostTheObjectHearsOfIt) {
  const auto owner = for_owner(kDeployment, kMemcached);
  const auto found = requests(owner, {.before = owned_by(kByController), .after = owned_by(kForeign)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].key, Key("default", "owner"));
}

std::vector<Key> users_of(const Widget& widget) {
  std::vector<Key> keys;
  for (const auto& user : widget.spec.users) keys.emplace_back(widget.metadata.namespace_, user);
  return keys;
}

TEST(Trigger, MapsBothStatesOnce) {
  const auto mapped = for_mapped<Widget>(users_of);
  const auto found = requests(mapped, {.before = object(R"("uid":"u")", R"({"users":["a","b"]})"),
                                       .after = object(R"("uid":"u")", R"({"users":["b","c"]})")});
  EXPECT_THAT(found, ElementsAre(Request({"default", "b"}, "Widget default/demo updated"),
                                 Request({"default", "c"}, "Widget default/demo updated"),
                                 Request({"default", "a"}, "Widget default/demo updated")));
  EXPECT_THROW(requests(mapped, created_now(object(R"("uid":"u")", R"({"users":7})"))), Error);
}

TEST(Trigger, ThePredicateIsAskedFirst) {
  auto self = for_self(kMemcached);
  self.when = generation_changed() && !deleted();
  EXPECT_EQ(requests(self, {.before = kOne, .after = kTwo}).size(), 1U);
  EXPECT_THAT(requests(self, {.before = kOne, .after = {}}), IsEmpty());
  EXPECT_THAT(requests(self, {.before = kOne, .after = object(R"("uid":"u","generation":3)")}), IsEmpty());
}

}  // namespace
}  // namespace kopper::runtime
