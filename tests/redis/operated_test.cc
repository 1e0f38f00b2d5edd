// What the operator does to Redis, with clients that write meanwhile, while everything is killed.
#include "redis/operated.h"

#include <thread>

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

// The third pass that moves slots finds that somebody has killed a party just now.
struct KilledParty : OperatedCluster {
  void kill_in_third_move(bool source) {
    int moves = 0;
    cluster.before_act = [this, source, moves](const Decision& decision) mutable {
      if (decision.moves.empty() || victim != nullptr || ++moves < 2) return;
      const auto& move = decision.moves.front();
      victim = &cluster.servers.with_id(source ? move.from : move.to);
      // While it moves: in some hundredths of a second.
      killer = std::thread([this] {
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
        victim->kill();
      });
    };
  }

  void run(bool source) {
    auto with_replica = options();
    with_replica.replicas = 1;  // what only the killed one had is lost by definition
    Load load(cluster.addresses(), with_replica);
    load.start();
    kill_in_third_move(source);
    cluster.wanted.replicas = 8;
    while (victim == nullptr) ASSERT_FALSE(cluster.pass());
    killer.join();
    if (source) {
      // Its replica takes over while the operator looks on; then the pod is back.
      const auto replaced = [&] { return !cluster.last.moves.empty() || !cluster.last.commands.empty(); };
      for (cluster.last = Decision(); !replaced();) (void)cluster.pass();
    }
    victim->start();
    EXPECT_THAT(cluster.settle(8), IsEmpty());
    expect_well(load, 4);
  }

  Server* victim = nullptr;
  std::thread killer;
};

TEST_F(KilledParty, SourceOfAMove) { run(true); }
TEST_F(KilledParty, TargetOfAMove) { run(false); }

TEST_F(OperatedCluster, AllMoveAndADiskIsLost) {
  Load load(cluster.addresses(), options());
  load.start();
  load.stop();  // nobody serves when all are away
  for (std::size_t i = 0; i < 6; ++i) cluster.servers[i].stop();
  for (std::size_t i = 0; i < 6; ++i) {
    cluster.servers[i].move_to(cluster.servers.free_address());
    cluster.servers[i].start();
  }
  EXPECT_THAT(cluster.settle(6), IsEmpty());
  load.know(cluster.addresses());

  auto& replica = cluster.servers[5];
  replica.kill();
  replica.lose_disk();
  replica.start();
  EXPECT_THAT(cluster.settle(6), IsEmpty());
  expect_well(load, 3);
}

}  // namespace
}  // namespace redis::testing
