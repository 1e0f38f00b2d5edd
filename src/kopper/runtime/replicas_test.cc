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
