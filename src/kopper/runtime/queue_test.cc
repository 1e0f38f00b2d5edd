#include "kopper/runtime/queue.h"

#include <unordered_set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/metrics/metrics.h"
#include "kopper/rt/scope.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Works until the queue is drained.
Task<> work(Queue* queue, std::vector<std::string>* ran, rt::Duration takes) {
  for (;;) {
    auto lease = co_await queue->next();
    if (!lease) co_return;
    ran->push_back(lease->key().str());
    if (takes > 0s) co_await rt::sleep(takes);
  }
}

TEST(Queue, WorkersWaitForKeysAndForDelays) {
  rt::Loop loop(rt::ClockMode::Manual);
  Queue queue;
  std::vector<std::string> ran;
  rt::Scope scope;
  for (int i = 0; i < 3; ++i) scope.spawn(work(&queue, &ran, 0s));
  loop.poll();
  queue.add({"n", "a"});
  queue.add_after({"n", "later"}, 10s);
  queue.add_after({"n", "sooner"}, 5s);
  loop.poll();
  EXPECT_THAT(ran, ElementsAre("n/a"));
  loop.advance(5s);
  EXPECT_THAT(ran, ElementsAre("n/a", "n/sooner"));
  queue.add_after({"n", "later"}, 1s);
  loop.advance(1s);
  EXPECT_THAT(ran, ElementsAre("n/a", "n/sooner", "n/later"));
  loop.advance(1h);
  EXPECT_EQ(ran.size(), 3U);
  EXPECT_EQ(loop.next_timer(), rt::TimePoint::max()) << "an empty queue has no timer";
}

TEST(Queue, ManyDueAtOnceWakeManyWorkers) {
  rt::Loop loop(rt::ClockMode::Manual);
  Queue queue;
  std::vector<std::string> ran;
  rt::Scope scope;
  for (int i = 0; i < 5; ++i) scope.spawn(work(&queue, &ran, 1h));
  for (int i = 0; i < 5; ++i) queue.add_after({"n", std::to_string(i)}, 1s);
  loop.advance(1s);
  EXPECT_EQ(ran.size(), 5U);
}

TEST(Queue, ALeaseTellsWhyAndHowOften) {
  rt::Loop loop(rt::ClockMode::Manual);
  Queue queue;
  const AddOptions created{.priority = -100, .reason = "created"};
  queue.add({"n", "a"}, created);
  loop.advance(2s);
  {
    const auto lease = loop.run(queue.next());
    EXPECT_EQ(lease->key(), Key("n", "a"));
    EXPECT_EQ(lease->reasons().str(), "created");
    EXPECT_EQ(lease->priority(), -100);
    EXPECT_EQ(lease->waited(), 2s);
    EXPECT_EQ(lease->tries(), 0U);
    queue.add_rate_limited(lease->key(), {.reason = "retry 1 after error"});
  }
  loop.advance(5ms);
  const auto again = queue.try_next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->tries(), 1U);
  EXPECT_EQ(again->reasons().str(), "retry 1 after error");
  EXPECT_EQ(again->priority(), -100);
}

TEST(Queue, ACancelledWorkerLosesNoKey) {
  rt::Loop loop(rt::ClockMode::Manual);
  Queue queue;
  std::vector<std::string> ran;
  std::vector<std::string> lost;
  rt::Scope stays;
  {
    rt::Scope goes;
    goes.spawn(work(&queue, &lost, 0s));
    loop.poll();
    stays.spawn(work(&queue, &ran, 0s));
    loop.poll();
    queue.add({"n", "a"});  // wakes the one that is destroyed before it can run
  }
  loop.poll();
  EXPECT_THAT(lost, IsEmpty());
  EXPECT_THAT(ran, ElementsAre("n/a"));
}

TEST(Queue, MetricsAreThoseOfControllerRuntime) {
  rt::Loop loop(rt::ClockMode::Manual);
  metrics::Registry registry;
  Queue queue(QueueOptions{.name = "memcached", .policy = {}, .metrics = &registry});
  queue.add({"n", "a"});
  queue.add({"n", "a"});
  queue.add({"n", "b"}, {.priority = -100});
  queue.add_after({"n", "c"}, 1h);
  loop.advance(2s);
  {
    const auto lease = queue.try_next();
    loop.advance(3s);
    const auto text = registry.text();
    for (const char* line : {
             R"(workqueue_depth{controller="memcached",name="memcached",priority="-100"} 1)",
             R"(workqueue_adds_total{controller="memcached",name="memcached"} 2)",
             R"(workqueue_retries_total{controller="memcached",name="memcached"} 1)",
             R"(workqueue_queue_duration_seconds_sum{controller="memcached",name="memcached"} 2)",
             R"(workqueue_queue_duration_seconds_bucket{controller="memcached",name="memcached",le="1e-08"} 0)",
             R"(workqueue_unfinished_work_seconds{controller="memcached",name="memcached"} 3)",
             R"(workqueue_longest_running_processor_seconds{controller="memcached",name="memcached"} 3)",
         }) {
      EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
    }
  }
  queue.try_next();
  const auto text = registry.text();
  EXPECT_THAT(text, HasSubstr(R"(workqueue_work_duration_seconds_sum{controller="memcached",name="memcached"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(workqueue_depth{controller="memcached",name="memcached",priority="-100"} 0)"));
}

TEST(Queue, DepthHasABoundedNumberOfPriorities) {
  const rt::Loop loop(rt::ClockMode::Manual);
  metrics::Registry registry;
  Queue queue(QueueOptions{.name = "q", .policy = {}, .metrics = &registry});
  for (int i = 0; i < 30; ++i) queue.add({"n", std::to_string(i)}, {.priority = i});
  EXPECT_THAT(registry.text(), HasSubstr(R"(priority="exceeded_cardinality_limit"} 5)"));
}

TEST(HardCase, 13_KeyAddedAgainAtShutdownDrainsAndWakesAll) {
  rt::Loop loop(rt::ClockMode::Manual);
  Queue queue;
  std::vector<std::string> ran;
  rt::Scope scope;
  for (int i = 0; i < 3; ++i) scope.spawn(work(&queue, &ran, 1s));
  queue.add({"n", "a"});
  loop.poll();
  queue.add({"n", "a"});
  queue.add({"n", "b"});
  queue.add_after({"n", "c"}, 1s);
  EXPECT_THAT(queue.shutdown(), ElementsAre(Key("n", "c")));
  EXPECT_FALSE(queue.add({"n", "d"}));
  loop.advance(3s);
  EXPECT_THAT(ran, ElementsAre("n/a", "n/b", "n/a"));
  EXPECT_TRUE(scope.empty()) << "every worker was told that it is over";
  EXPECT_EQ(queue.figures().size(), 0U);
}

struct Crowd {
  std::unordered_set<Key> running;
  std::size_t runs = 0;
  std::size_t again = 0;
  std::size_t at_once = 0;
};

Task<> crowd_worker(Queue* queue, Crowd* crowd) {
  for (;;) {
    auto lease = co_await queue->next();
    if (!lease) co_return;
    EXPECT_TRUE(crowd->running.insert(lease->key()).second) << "the same key twice at once";
    crowd->at_once = std::max(crowd->at_once, crowd->running.size());
    ++crowd->runs;
    const bool again = lease->reasons().str() == "first" && crowd->runs % 10 == 0;
    if (again) {
      ++crowd->again;
      queue->add(lease->key(), {.priority = {}, .reason = "again"});
    }
    co_await rt::yield();
    crowd->running.erase(lease->key());
  }
}

TEST(HardCase, 14_AMillionKeysAndAThousandWorkers) {
  rt::Loop loop(rt::ClockMode::Manual);
  Queue queue;
  Crowd crowd;
  rt::Scope scope;
  for (int i = 0; i < 1000; ++i) scope.spawn(crowd_worker(&queue, &crowd));
  constexpr std::size_t kKeys = 1'000'000;
  for (std::size_t i = 0; i < kKeys; ++i) {
    queue.add({fmt::format("n{}", i % 100), std::to_string(i)}, {.priority = i % 3 == 0 ? -100 : 0, .reason = "first"});
  }
  EXPECT_EQ(queue.figures().ready(), kKeys);
  loop.poll();
  EXPECT_EQ(crowd.runs, kKeys + crowd.again);
  EXPECT_GT(crowd.again, kKeys / 20);
  queue.shutdown();
  loop.poll();
  EXPECT_EQ(crowd.at_once, 1000U);
  EXPECT_TRUE(scope.empty());
  EXPECT_EQ(queue.figures().size(), 0U);
}

}  // namespace
}  // namespace kopper::runtime
