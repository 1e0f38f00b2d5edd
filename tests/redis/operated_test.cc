// What the operator does to Redis, with clients that write meanwhile, while everything is killed.
#include "redis/operated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/invariants.h"
#include "redis/load.h"

namespace redis::testing {
namespace {

using ::testing::IsEmpty;

struct OperatedCluster : ::testing::Test {
  OperatedCluster() { EXPECT_THAT(cluster.settle(6), IsEmpty()); }

  // All as it should be, and every acknowledged write there.
  void expect_well(Load& load, std::size_t masters) {
    Expected expected;
    expected.masters = masters;
    EXPECT_THAT(wait_for_invariants([this] { return cluster.addresses(); }, expected), IsEmpty());
    load.know(cluster.addresses());
    EXPECT_THAT(load.verify(), IsEmpty());
    EXPECT_EQ(cluster.servers.check().exit, 0);
  }

  // Grows and shrinks until so many passes have died.
  void resize_until(std::size_t cuts, Load& load) {
    for (int round = 0; cluster.cuts < cuts && round < 60 && !HasFailure(); ++round) {
      ASSERT_THAT(cluster.settle(round % 2 == 0 ? 8 : 6), IsEmpty());
      load.know(cluster.addresses());
    }
  }

  LoadOptions options() {
    LoadOptions out;
    out.keys = 20000;
    return out;
  }

  Operated cluster{6};
};

TEST_F(OperatedCluster, LosesNothingWhenItDiesAnywhere) {
  const char* more = std::getenv("KOPPER_REDIS_CUTS");
  Load load(cluster.addresses(), options());
  load.start();
  cluster.cut_one_in = 2;
  resize_until(more == nullptr ? 20 : std::stoul(more), load);
  cluster.cut_one_in = 0;
  EXPECT_THAT(cluster.settle(6), IsEmpty());
  expect_well(load, 3);
}

}  // namespace
}  // namespace redis::testing
