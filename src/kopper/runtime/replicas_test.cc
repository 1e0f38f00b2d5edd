#include "kopper/runtime/replicas.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/loop.h"

namespace kopper::runtime {
namespace {

TEST(ReplicaNames, AreTheSameForTheSameSight) {
  const auto all = replica_names("demo", "uid-1", 500, {});
  EXPECT_EQ(replica_names("demo", "uid-1", 500, {}), all);
  EXPECT_EQ((std::set<std::string>(all.begin(), all.end()).size()), 500U);
  EXPECT_TRUE(all[0].starts_with("demo-"));
  EXPECT_NE(replica_names("demo", "uid-2", 1, {}), replica_names("demo", "uid-1", 1, {}));
}

// Whoever misses one that exists asks for its name again.
TEST(ReplicaNames, FillTheGapsOfALaggingCache) {
  const auto all = replica_names("demo", "uid-1", 4, {});
  EXPECT_EQ(replica_names("demo", "uid-1", 2, {all[0], all[2]}), (std::vector<std::string>{all[1], all[3]}));
}

TEST(ReplicaNames, OfALongNameStayHostNames) {
  EXPECT_EQ(replica_names(std::string(253, 'x'), "uid-1", 1, {}).at(0).size(), 63U);
}

api::metav1::ObjectMeta demo() {
  api::metav1::ObjectMeta metadata;
  metadata.name = "demo";
  metadata.uid = "uid-1";
  return metadata;
}

api::PodRef pod(std::string name, std::string phase = "Running", bool going = false) {
  auto made = std::make_shared<api::corev1::Pod>();
  made->metadata.name = std::move(name);
  made->spec.nodeName = "node";
  made->status.phase = std::move(phase);
  if (going) made->metadata.deletionTimestamp = api::Time::parse("2026-01-01T00:00:00Z").value();
  return made;
}

TEST(ReplicaPlan, IsTheWholeDifference) {
  EXPECT_EQ(plan_replicas(demo(), 10, {}).create.size(), 10U);
  EXPECT_EQ(plan_replicas(demo(), 10, {pod("a"), pod("b")}).create.size(), 8U);
  EXPECT_EQ(plan_replicas(demo(), 0, {pod("a"), pod("b")}).remove.size(), 2U);
}

TEST(ReplicaPlan, IsEmptyWhenNothingIsToBeDone) {
  const auto plan = plan_replicas(demo(), 2, {pod("a"), pod("b")});
  EXPECT_TRUE(plan.create.empty());
  EXPECT_TRUE(plan.remove.empty());
  EXPECT_TRUE(plan.ended.empty());
}

TEST(ReplicaPlan, TheCheapestGoFirst) {
  const auto plan = plan_replicas(demo(), 2, {pod("a"), pod("z", "Pending"), pod("b")});
  ASSERT_EQ(plan.remove.size(), 1U);
  EXPECT_EQ(plan.remove[0]->metadata.name, "z");
}

TEST(ReplicaPlan, WhatEndedIsReplacedAndWhatGoesDoesNotCount) {
  const auto plan = plan_replicas(demo(), 2, {pod("a", "Failed"), pod("b", "Running", true), pod("c")});
  EXPECT_EQ(plan.create.size(), 1U);
  ASSERT_EQ(plan.ended.size(), 1U);
  EXPECT_EQ(plan.ended[0]->metadata.name, "a");
  EXPECT_TRUE(plan.remove.empty());
}

// A cache that has not seen a pod yet makes us ask for the name of that very pod.
TEST(ReplicaPlan, ALaggingCacheMakesNoPodTooMany) {
  const auto names = plan_replicas(demo(), 3, {}).create;
  EXPECT_EQ(plan_replicas(demo(), 3, {pod(names[0]), pod(names[2])}).create, (std::vector<std::string>{names[1]}));
}

Task<> note(std::vector<std::size_t>* calls, std::size_t n, std::size_t bad) {
  calls->push_back(n);
  co_await rt::yield();
  if (n >= bad) throw Error(Code::Invalid, "no");
}

TEST(SlowStart, CallsEachOnce) {
  std::vector<std::size_t> calls;
  rt::Loop loop;
  loop.run(slow_start(100, [&calls](std::size_t n) { return note(&calls, n, 1000); }));
  std::ranges::sort(calls);
  ASSERT_EQ(calls.size(), 100U);
  EXPECT_EQ(calls.back(), 99U);
}

TEST(SlowStart, OneCallWhenAllFail) {
  std::vector<std::size_t> calls;
  rt::Loop loop;
  EXPECT_THROW(loop.run(slow_start(100, [&calls](std::size_t n) { return note(&calls, n, 0); })), Error);
  EXPECT_EQ(calls.size(), 1U);
}

TEST(SlowStart, EndsWithTheBatchThatFails) {
  std::vector<std::size_t> calls;
  rt::Loop loop;
  EXPECT_THROW(loop.run(slow_start(100, [&calls](std::size_t n) { return note(&calls, n, 4); })), Error);
  EXPECT_EQ(calls.size(), 7U);  // 1 + 2 + 4, the second of which went wrong
}

}  // namespace
}  // namespace kopper::runtime
