#include "kopper/runtime/queue_core.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using TimePoint = QueueCore::TimePoint;

constexpr TimePoint kStart{};

class QueueCoreTest : public ::testing::Test {
 protected:
  void add(const std::string& key, AddOptions options = {}) {
    core_.add(Key::parse(key), std::move(options), 0s, now_);
  }
  void add_after(const std::string& key, QueueCore::Duration delay) { core_.add(Key::parse(key), {}, delay, now_); }
  std::string next() {
    auto run = core_.next(now_);
    if (!run) return "-";
    running_[run->item->key.str()] = run->item;
    return run->item->key.str();
  }
  std::vector<std::string> all() {
    std::vector<std::string> keys;
    for (auto key = next(); key != "-"; key = next()) keys.push_back(key);
    return keys;
  }
  void done(const std::string& key) { core_.done(*running_.extract(key).mapped()); }
  void advance(QueueCore::Duration by) {
    now_ += by;
    core_.tick(now_);
  }

  TimePoint now_ = kStart;
  QueueCore core_;
  std::map<std::string, QueueCore::Item*> running_;
};

TEST_F(QueueCoreTest, MergesAddsAndKeepsTheirReasons) {
  for (const char* reason : {"a", "b", "a", "", "c", "d", "e"}) add("x", {.reason = reason});
  const auto run = core_.next(now_);
  ASSERT_TRUE(run);
  EXPECT_THAT(run->reasons.first(), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(run->reasons.total(), 7U);
  EXPECT_EQ(run->reasons.str(), "a; b; c; d (and 3 more)");
  EXPECT_FALSE(core_.next(now_));
  core_.done(*run->item);
  EXPECT_EQ(core_.size(), 0U);
}

TEST_F(QueueCoreTest, HigherPriorityFirstThenInOrder) {
  add("a", {.priority = -100});
  add("b");
  add("c", {.priority = 5});
  add("d");
  EXPECT_THAT(all(), ElementsAre("c", "b", "d", "a"));
}

TEST_F(QueueCoreTest, RaisingThePriorityGoesToTheEndOfTheLevelLoweringDoesNothing) {
  add("a", {.priority = -100});
  add("b");
  add("c");
  add("a", {.priority = 0});
  add("b", {.priority = -100});
  EXPECT_THAT(all(), ElementsAre("b", "c", "a"));
}

TEST_F(QueueCoreTest, NamespacesTakeTurns) {
  for (const char* key : {"a/1", "a/2", "a/3", "a/4", "b/1", "b/2", "c/1"}) add(key);
  EXPECT_THAT(all(), ElementsAre("a/1", "b/1", "c/1", "a/2", "b/2", "a/3", "a/4"));
}

TEST_F(QueueCoreTest, ALargeNamespaceDoesNotStarveASmallOne) {
  for (int i = 0; i < 100'000; ++i) add("large/" + std::to_string(i));
  add("small/1");
  EXPECT_EQ(next(), "large/0");
  EXPECT_EQ(next(), "small/1");
}

TEST_F(QueueCoreTest, LowerPrioritiesGetTheirShareInTurn) {
  QueueCore core(QueuePolicy{.lower_share = 4});
  std::vector<int> order;
  for (int i = 0; i < 20; ++i) {
    for (const int priority : {0, -1, -2})
      core.add({"", fmt::format("{}{}", priority, i)}, {.priority = priority}, 0s, now_);
  }
  for (int i = 0; i < 12; ++i) {
    const auto run = core.next(now_);
    order.push_back(run->priority);
    core.done(*run->item);
  }
  EXPECT_THAT(order, ElementsAre(0, 0, 0, -1, 0, 0, 0, -2, 0, 0, 0, -1));
}

TEST_F(QueueCoreTest, EarliestTimeWins) {
  add_after("a", 10s);
  add_after("a", 5s);
  add_after("a", 20s);
  EXPECT_EQ(core_.next_due(), now_ + 5s);
  advance(4s);
  EXPECT_EQ(next(), "-");
  advance(1s);
  EXPECT_EQ(next(), "a");
  done("a");
  advance(100s);
  EXPECT_EQ(next(), "-");

  add_after("b", 10s);
  add("b");
  add_after("b", 1s);
  EXPECT_EQ(core_.delayed(), 0U);
  EXPECT_EQ(next(), "b");
}

TEST_F(QueueCoreTest, AVeryLongDelayDoesNotOverflow) {
  now_ += 1h;
  add_after("a", QueueCore::Duration::max());
  EXPECT_EQ(next(), "-");
  EXPECT_EQ(core_.delayed(), 1U);
}

TEST_F(QueueCoreTest, BackoffGrowsUntilForgotten) {
  const auto fail = [&] {
    core_.add_rate_limited({"", "a"}, {}, now_);
    done("a");
    const auto delay = core_.next_due() - now_;
    advance(delay);
    return delay;
  };
  add("a");
  std::vector<QueueCore::Duration> delays;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(next(), "a");
    delays.push_back(fail());
  }
  EXPECT_THAT(delays, ElementsAre(5ms, 10ms, 20ms));
  EXPECT_EQ(core_.failures({"", "a"}), 3U);
  EXPECT_EQ(next(), "a");
  core_.forget({"", "a"});
  EXPECT_EQ(fail(), 5ms);
  EXPECT_EQ(next(), "a");
  done("a");
  EXPECT_EQ(core_.failures({"", "a"}), 0U) << "a key that left is forgotten";
}

TEST_F(QueueCoreTest, ARetryKeepsThePriorityOfItsLease) {
  add("a", {.priority = -100});
  EXPECT_EQ(next(), "a");
  core_.add_rate_limited({"", "a"}, {}, now_);
  done("a");
  advance(5ms);
  EXPECT_EQ(core_.next(now_)->priority, -100);
}

TEST_F(QueueCoreTest, MemoryGoesBackWhenEmptied) {
  for (int i = 0; i < 100'000; ++i) add_after(fmt::format("n{}/{}", i % 7, i), std::chrono::milliseconds(i));
  EXPECT_EQ(core_.size(), 100'000U);
  advance(1h);
  for (auto key = next(); key != "-"; key = next()) done(key);
  EXPECT_EQ(core_.size(), 0U);
  EXPECT_THAT(core_.depths(), IsEmpty());
}

// ---- case 13 of the hard cases, on the core: a key that is added again … ----

TEST_F(QueueCoreTest, HardCase13_AddedAgainWhileProcessingRunsExactlyOnceMore) {
  add("a");
  EXPECT_EQ(next(), "a");
  for (int i = 0; i < 10; ++i) add("a", {.reason = "again"});
  EXPECT_EQ(next(), "-") << "never twice at once";
  done("a");
  EXPECT_EQ(next(), "a");
  done("a");
  EXPECT_EQ(next(), "-");
}

TEST_F(QueueCoreTest, HardCase13_AddedAgainWithADelayWhileProcessing) {
  add("a");
  EXPECT_EQ(next(), "a");
  add_after("a", 10s);
  advance(11s);
  EXPECT_EQ(next(), "-") << "due, but still leased";
  done("a");
  EXPECT_EQ(next(), "a");
  add_after("a", 10s);
  done("a");
  EXPECT_EQ(next(), "-") << "the delay counts from the add";
  advance(10s);
  EXPECT_EQ(next(), "a");
}

TEST_F(QueueCoreTest, HardCase13_AddedAgainWithAHigherPriorityWhileProcessing) {
  add("a", {.priority = -100});
  EXPECT_EQ(next(), "a");
  add("b");
  add("a", {.priority = -100});
  add("a", {.priority = 7});
  EXPECT_THAT(core_.depths(), UnorderedElementsAre(std::pair(0, 1U), std::pair(7, 1U)));
  done("a");
  EXPECT_THAT(all(), ElementsAre("a", "b"));
}

TEST_F(QueueCoreTest, HardCase13_AddedAgainAtShutdown) {
  for (const char* key : {"again", "later", "ready"}) add(key);
  EXPECT_EQ(next(), "again");
  EXPECT_EQ(next(), "later");
  add("again");
  add_after("later", 10s);
  add_after("delayed", 10s);
  EXPECT_THAT(core_.shutdown(), UnorderedElementsAre(Key("", "later"), Key("", "delayed")));
  EXPECT_FALSE(core_.add({"", "late"}, {}, 0s, now_));
  EXPECT_FALSE(core_.add({"", "later"}, {}, 0s, now_));
  EXPECT_FALSE(core_.drained());
  EXPECT_EQ(next(), "ready");
  EXPECT_FALSE(core_.drained()) << "one is added again";
  for (const char* key : {"ready", "again", "later"}) done(key);
  EXPECT_EQ(next(), "again");
  EXPECT_TRUE(core_.drained());
  done("again");
  EXPECT_EQ(core_.size(), 0U);
}

// ---- against a model ----

// What the queue promises, done slowly: everything is found by looking at all keys.
class Model {
 public:
  struct Entry {
    std::optional<TimePoint> due;  // delayed
    bool ready = false;            // pending now
    bool leased = false;
    int priority = 0;
    unsigned failures = 0;
    std::uint64_t arrival = 0;
    std::size_t reasons = 0;
  };

  void add(const Key& key, std::optional<int> priority, QueueCore::Duration delay, TimePoint now) {
    auto& entry = entries_[key];
    const bool pending = entry.ready || entry.due;
    ++entry.reasons;
    const int wanted = priority.value_or(entry.priority);
    if (!pending || wanted > entry.priority) {
      if (entry.ready) entry.arrival = ++arrivals_;
      entry.priority = wanted;
    }
    if (entry.ready) return settle();
    if (delay <= 0s) {
      entry.due.reset();
      make_ready(entry);
    } else {
      entry.due = std::min(entry.due.value_or(TimePoint::max()), now + delay);
    }
  }
  void add_rate_limited(const Key& key, std::optional<int> priority, TimePoint now) {
    add(key, priority, Backoff().delay(entries_[key].failures++), now);
  }
  void forget(const Key& key) {
    if (entries_.contains(key)) entries_[key].failures = 0;
  }
  void tick(TimePoint now) {
    for (;;) {
      Entry* first = nullptr;
      for (auto& [key, entry] : entries_) {
        if (entry.due && *entry.due <= now && (first == nullptr || *entry.due < *first->due)) first = &entry;
      }
      if (first == nullptr) return;
      first->due.reset();
      make_ready(*first);
    }
  }
  std::optional<std::pair<Key, Entry>> next() {
    if (turns_.empty()) return std::nullopt;
    auto& [priority, turns] = *turns_.rbegin();
    const std::string turn = turns.front();
    turns.pop_front();
    const Key* best = nullptr;
    for (auto& [key, entry] : entries_) {
      if (waits(entry) && entry.priority == priority && key.namespace_ == turn &&
          (best == nullptr || entry.arrival < entries_[*best].arrival)) {
        best = &key;
      }
    }
    auto& entry = entries_[*best];
    const auto result = std::pair(*best, entry);
    entry.ready = false;
    entry.leased = true;
    entry.reasons = 0;
    settle();
    return result;
  }
  void done(const Key& key) {
    auto& entry = entries_[key];
    entry.leased = false;
    if (entry.ready) {
      entry.arrival = ++arrivals_;
    } else if (!entry.due) {
      entries_.erase(key);
    }
    settle();
  }
  std::size_t size() const { return entries_.size(); }

 private:
  static bool waits(const Entry& entry) { return entry.ready && !entry.leased; }
  void make_ready(Entry& entry) {
    entry.ready = true;
    entry.arrival = ++arrivals_;
    settle();
  }
  // Whose turn it is, at each priority: namespaces that no longer have a ready key leave, new ones go to the end.
  void settle() {
    std::map<int, std::set<std::string>> have;
    for (const auto& [key, entry] : entries_) {
      if (waits(entry)) have[entry.priority].insert(key.namespace_);
    }
    std::erase_if(turns_, [&](auto& level) { return !have.contains(level.first); });
    for (auto& [priority, names] : have) {
      auto& turns = turns_[priority];
      std::erase_if(turns, [&](const std::string& name) { return !names.contains(name); });
      for (const auto& name : names) {
        if (std::ranges::find(turns, name) == turns.end()) turns.push_back(name);
      }
    }
  }

  std::map<Key, Entry> entries_;
  std::map<int, std::deque<std::string>> turns_;
  std::uint64_t arrivals_ = 0;
};

class QueueAgainstModel : public ::testing::TestWithParam<unsigned> {};

TEST_P(QueueAgainstModel, HandsOutTheSame) {
  std::mt19937 random(GetParam());
  const auto up_to = [&](int n) { return std::uniform_int_distribution(0, n)(random); };
  QueueCore core(QueuePolicy{.lower_share = 0});
  Model model;
  TimePoint now = kStart;
  std::map<Key, QueueCore::Item*> leased;
  const auto some_key = [&] { return Key("n" + std::to_string(up_to(2)), std::to_string(up_to(6))); };
  const auto some_priority = [&] { return up_to(2) == 0 ? std::nullopt : std::optional(up_to(2) - 1); };
  for (int step = 0; step < 3000; ++step) {
    SCOPED_TRACE(step);
    const Key key = some_key();
    const auto priority = some_priority();
    // A nanosecond more each step, so that no two keys are due at the same time.
    now += 1ns;
    core.tick(now);
    model.tick(now);
    switch (up_to(7)) {
      case 0:
      case 1:
        core.add(key, {.priority = priority}, 0s, now);
        model.add(key, priority, 0s, now);
        break;
      case 2: {
        const auto delay = std::chrono::milliseconds(up_to(20));
        core.add(key, {.priority = priority}, delay, now);
        model.add(key, priority, delay, now);
        break;
      }
      case 3:
        core.add_rate_limited(key, {.priority = priority}, now);
        model.add_rate_limited(key, priority, now);
        break;
      case 4:
        core.forget(key);
        model.forget(key);
        break;
      case 5:
        now += std::chrono::milliseconds(up_to(30));
        core.tick(now);
        model.tick(now);
        break;
      case 6: {
        auto got = core.next(now);
        const auto want = model.next();
        ASSERT_EQ(got.has_value(), want.has_value());
        if (!got) break;
        ASSERT_EQ(got->item->key, want->first);
        ASSERT_EQ(got->priority, want->second.priority);
        ASSERT_EQ(got->failures, want->second.failures);
        ASSERT_EQ(got->reasons.total(), want->second.reasons);
        ASSERT_TRUE(leased.emplace(want->first, got->item).second) << "leased twice";
        break;
      }
      default:
        if (leased.empty()) break;
        const auto one = std::next(leased.begin(), up_to(static_cast<int>(leased.size()) - 1));
        core.done(*one->second);
        model.done(one->first);
        leased.erase(one);
    }
    ASSERT_EQ(core.size(), model.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, QueueAgainstModel, ::testing::Range(1U, 21U));

}  // namespace
}  // namespace kopper::runtime
