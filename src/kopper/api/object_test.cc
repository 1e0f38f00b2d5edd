#include "kopper/api/object.h"

#include <gtest/gtest.h>

#include "kopper/api/conditions.h"
#include "kopper/api/gen/core_v1.h"
#include "kopper/api/owner.h"
#include "kopper/api/selector.h"
#include "kopper/base/error.h"

namespace kopper::api {
namespace {

using namespace std::chrono_literals;

const Time kNow{std::chrono::sys_days{std::chrono::year{2026} / 1 / 31}};
const Time kLater{kNow.point() + 1h};

metav1::Condition ready(bool status, std::string_view reason = "R") {
  return condition("Ready", status, reason, "{} of {}", 1, 2);
}

TEST(Conditions, TransitionTimeMovesWithTheStatusOnly) {
  Conditions list;
  EXPECT_TRUE(set_condition(list, ready(false), kNow));
  EXPECT_FALSE(set_condition(list, ready(false), kLater)) << "nothing changed";
  EXPECT_TRUE(set_condition(list, ready(false, "Other"), kLater));
  EXPECT_EQ(find_condition(list, "Ready")->lastTransitionTime, kNow);
  EXPECT_TRUE(set_condition(list, ready(true), kLater));
  EXPECT_EQ(find_condition(list, "Ready")->lastTransitionTime, kLater);
  EXPECT_EQ(list.size(), 1);
}

TEST(Conditions, ObservedGenerationIsAChange) {
  Conditions list;
  set_condition(list, ready(true), kNow);
  auto next = ready(true);
  next.observedGeneration = 7;
  EXPECT_TRUE(set_condition(list, next, kLater));
  EXPECT_EQ(list[0].observedGeneration, 7);
  EXPECT_EQ(list[0].lastTransitionTime, kNow);
}

TEST(Conditions, AGivenTimeIsKept) {
  Conditions list;
  auto given = ready(true);
  given.lastTransitionTime = kNow;
  set_condition(list, given, kLater);
  EXPECT_EQ(list[0].lastTransitionTime, kNow);
}

TEST(Conditions, FindAndRemove) {
  Conditions list;
  set_condition(list, ready(true), kNow);
  EXPECT_TRUE(is_true(list, "Ready"));
  EXPECT_FALSE(is_false(list, "Ready"));
  EXPECT_FALSE(is_true(list, "Other"));
  EXPECT_FALSE(is_false(list, "Other"));
  EXPECT_TRUE(remove_condition(list, "Ready"));
  EXPECT_FALSE(remove_condition(list, "Ready"));
}

TEST(Conditions, SettleCarriesTimesOver) {
  Conditions before;
  set_condition(before, ready(true), kNow);
  Conditions computed{ready(true), condition("Progressing", false, "Done", "")};
  settle_conditions(computed, before, kLater, 4);
  EXPECT_EQ(computed[0].lastTransitionTime, kNow);
  EXPECT_EQ(computed[1].lastTransitionTime, kLater);
  EXPECT_EQ(computed[1].observedGeneration, 4);
}

const Kind kKind{"cache.example.com", "v1", "Memcached"};

metav1::ObjectMeta owner(std::string uid = "u1") { return {.name = "demo", .namespace_ = "ns", .uid = std::move(uid)}; }

TEST(Owner, SetControllerOnce) {
  metav1::ObjectMeta child{.name = "c", .namespace_ = "ns"};
  set_controller(child, kKind, owner());
  set_controller(child, kKind, owner());
  ASSERT_EQ(child.ownerReferences.size(), 1);
  const auto* controller = controller_of(child);
  ASSERT_NE(controller, nullptr);
  EXPECT_EQ(controller->apiVersion, "cache.example.com/v1");
  EXPECT_EQ(controller->kind, "Memcached");
  EXPECT_EQ(controller->blockOwnerDeletion, true);
  EXPECT_TRUE(is_controlled_by(child, "u1"));
  EXPECT_TRUE(is_owned_by(child, "u1"));
  EXPECT_FALSE(is_owned_by(child, "u2"));
}

TEST(Owner, APlainOwnerBecomesTheController) {
  metav1::ObjectMeta child{.name = "c", .namespace_ = "ns"};
  child.ownerReferences.push_back(owner_reference(kKind, owner()));
  EXPECT_EQ(controller_of(child), nullptr);
  set_controller(child, kKind, owner());
  EXPECT_EQ(child.ownerReferences.size(), 1);
  EXPECT_TRUE(is_controlled_by(child, "u1"));
}

TEST(Owner, AForeignControllerIsRespected) {
  metav1::ObjectMeta child{.name = "c", .namespace_ = "ns"};
  set_controller(child, kKind, owner("u1"));
  try {
    set_controller(child, kKind, owner("u2"));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code, Code::Conflict);
    EXPECT_STREQ(e.what(), "ns/c is controlled by Memcached demo");
  }
}

TEST(Owner, RefusesWhatTheServerWouldCollect) {
  metav1::ObjectMeta elsewhere{.name = "c", .namespace_ = "other"};
  EXPECT_THROW(set_controller(elsewhere, kKind, owner()), Error);
  metav1::ObjectMeta child{.name = "c", .namespace_ = "ns"};
  EXPECT_THROW(set_controller(child, kKind, owner("")), Error);
  set_controller(child, kKind, {.name = "cluster-wide", .uid = "u9"});
  EXPECT_TRUE(is_controlled_by(child, "u9"));
}

TEST(Object, KeyAndFinalizers) {
  corev1::Pod pod{.metadata = {.name = "p", .namespace_ = "ns"}};
  EXPECT_EQ(key_of(pod).str(), "ns/p");
  EXPECT_TRUE(add_finalizer(pod.metadata, "example.com/f"));
  EXPECT_FALSE(add_finalizer(pod.metadata, "example.com/f"));
  EXPECT_TRUE(has_finalizer(pod.metadata, "example.com/f"));
  EXPECT_TRUE(remove_finalizer(pod.metadata, "example.com/f"));
  EXPECT_FALSE(remove_finalizer(pod.metadata, "example.com/f"));
  EXPECT_FALSE(is_deleting(pod));
  pod.metadata.deletionTimestamp = kNow;
  EXPECT_TRUE(is_deleting(pod));
}

TEST(Selector, FromLabelSelector) {
  const metav1::LabelSelector selector{.matchLabels = {{"app", "web"}},
                                       .matchExpressions = {{.key = "tier", .operator_ = "NotIn", .values = {"b", "a"}},
                                                            {.key = "x", .operator_ = "Exists"},
                                                            {.key = "y", .operator_ = "DoesNotExist"}}};
  EXPECT_EQ(Selector::from(selector)->str(), "app=web,tier notin (a,b),x,!y");
  EXPECT_TRUE(Selector::from({})->empty());
  EXPECT_EQ(Selector::from({.matchExpressions = {{.key = "a", .operator_ = "Near"}}}).error().str(),
            "matchExpressions[0]: \"Near\" is not a valid label selector operator (offset 0)");
  EXPECT_FALSE(Selector::from({.matchExpressions = {{.key = "a", .operator_ = "In"}}}).has_value());
  EXPECT_FALSE(Selector::from({.matchLabels = {{"a b", "c"}}}).has_value());
}

}  // namespace
}  // namespace kopper::api
