#include "redis/load.h"

#include <gmock/gmock.h>

#include "redis/invariants.h"
#include "redis/servers.h"

namespace redis::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Nodes, SlotsOfKeysAreThoseOfRedis) {
  EXPECT_EQ(slot_of_key("123456789"), 12739U);
  EXPECT_EQ(slot_of_key("{user}.a"), slot_of_key("user"));
  EXPECT_NE(slot_of_key("{}.a"), slot_of_key("{}.b"));
}

// A cluster of six, which the tests share.
class Loaded : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    servers = std::make_unique<Servers>(6);
    servers->form(3);
  }
  static void TearDownTestSuite() { servers.reset(); }

  static LoadOptions options(const std::string& prefix) {
    LoadOptions out;
    out.keys = 2000;
    out.prefix = prefix;
    return out;
  }
  static std::string wait() {
    return wait_for_invariants([] { return servers->addresses(); });
  }
  // By redis-cli, at whichever node has the key.
  static std::string cli(std::vector<std::string> words) {
    words.insert(words.begin(), "-c");
    return (*servers)[0].cli(words);
  }

  static std::unique_ptr<Servers> servers;
};

std::unique_ptr<Servers> Loaded::servers;

TEST_F(Loaded, NothingIsWrongWhenNothingHappens) {
  EXPECT_THAT(wait(), IsEmpty());
  Load load({(*servers)[4].address()}, options("calm"));
  load.start();
  EXPECT_TRUE(load.wait_for(1000));
  EXPECT_THAT(load.verify(), IsEmpty());
  EXPECT_GE(load.acknowledged(), 3000U);
  EXPECT_EQ(load.longest().size(), 3U) << "all shards";
  EXPECT_GT(load.latency(99).count(), 0);
}

TEST_F(Loaded, WhatIsDoneBehindItsBackIsFound) {
  Load load({(*servers)[0].address()}, options("tricked"));
  load.start();
  EXPECT_TRUE(load.wait_for(500));
  load.stop();
  EXPECT_EQ(cli({"del", "tricked:0"}), "1");
  EXPECT_EQ(cli({"set", "tricked:1", "0 of tricked:1"}), "OK");
  cli({"decr", "tricked:4"});
  cli({"incr", "tricked:5"});
  EXPECT_EQ(cli({"hdel", "tricked:6", "field"}), "1");
  cli({"rpop", "tricked:7"});
  const std::string wrong = load.verify();
  for (const std::string key : {"tricked:0 ", "tricked:1 ", "tricked:4 ", "tricked:5 ", "tricked:6 ", "tricked:7 "})
    EXPECT_THAT(wrong, HasSubstr(key));
  EXPECT_EQ(std::count(wrong.begin(), wrong.end(), '\n'), 6) << wrong;
}

TEST_F(Loaded, AManualFailoverAndAMovedSlotAreSurvived) {
  Load load({(*servers)[0].address()}, options("{slot}moved"));
  load.start();
  Server& replica = (*servers)[3];
  EXPECT_EQ(replica.cli({"cluster", "failover"}), "OK");
  EXPECT_TRUE(eventually([&] { return replica.cli({"role"}).starts_with("master"); }));
  ASSERT_THAT(wait(), IsEmpty()) << "all agree who is a master";
  const std::size_t slot = slot_of_key("slot");
  std::string from, to;
  for (const NodeSeen& node : read_nodes(replica.cli({"cluster", "nodes"}))) {
    if (node.is("master")) (node.slots[slot] ? from : to) = node.id;
  }
  const auto slotted = [&](const std::string& at, const std::string& what, const std::string& id) {
    EXPECT_EQ(servers->with_id(at).cli({"cluster", "setslot", std::to_string(slot), what, id}), "OK");
  };
  slotted(to, "importing", from);
  slotted(from, "migrating", to);
  EXPECT_THAT(broken_invariants(servers->addresses()), HasSubstr("open slot"));
  const auto target = servers->with_id(to).address();
  Server& source = servers->with_id(from);
  // Half of them, writers at work; then the rest.
  for (int i = 0; i < 10; ++i)
    for (const Answer& key : source.call({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"}).items)
      ASSERT_FALSE(source.call({"MIGRATE", target, "6379", key.text, "0", "1000"}).is_error());
  EXPECT_TRUE(load.wait_for(200));
  while (source.call({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)}).integer > 0)
    for (const Answer& key : source.call({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "100"}).items)
      ASSERT_FALSE(source.call({"MIGRATE", target, "6379", key.text, "0", "1000"}).is_error());
  slotted(to, "node", to);
  slotted(from, "node", to);
  EXPECT_TRUE(load.wait_for(200));
  EXPECT_THAT(load.verify(), IsEmpty());
  EXPECT_THAT(wait(), IsEmpty());
}

TEST_F(Loaded, AKilledMasterLosesNothingThatAReplicaHas) {
  LoadOptions durable = options("killed");
  durable.replicas = 1;
  Load load({(*servers)[0].address()}, durable);
  load.start();
  EXPECT_TRUE(load.wait_for(300));
  Server& victim = (*servers)[1];
  victim.kill();
  EXPECT_TRUE(eventually([&] { return (*servers)[4].cli({"role"}).starts_with("master"); }));
  victim.move_to(servers->free_address());
  victim.start();
  EXPECT_TRUE(load.wait_for(300));
  EXPECT_THAT(load.verify(), IsEmpty());
  EXPECT_THAT(wait(), IsEmpty());
}

TEST_F(Loaded, HiddenKeysAreFound) {
  EXPECT_THAT(wait(), IsEmpty());
  Server& master = servers->with_id([&] {
    for (const NodeSeen& node : read_nodes((*servers)[0].cli({"cluster", "nodes"})))
      if (node.is("master") && !node.slots[0]) return node.id;
    return std::string();
  }());
  std::string key;
  for (int i = 0; slot_of_key(key = "hidden" + std::to_string(i)) % 100 != 0 ||
                  master.cli({"get", key}).starts_with("MOVED") == false;)
    ++i;
  const std::string slot = std::to_string(slot_of_key(key));
  const std::string other = [&] {
    for (const NodeSeen& node : read_nodes((*servers)[0].cli({"cluster", "nodes"})))
      if (node.slots[slot_of_key(key)]) return node.id;
    return std::string();
  }();
  EXPECT_EQ(master.cli({"cluster", "setslot", slot, "importing", other}), "OK");
  BlockingClient client(master.address());
  EXPECT_TRUE(client.pipeline({{"ASKING"}, {"SET", key, "x"}})[1].is_text("OK"));
  EXPECT_EQ(master.cli({"cluster", "setslot", slot, "stable"}), "OK");
  EXPECT_THAT(broken_invariants(servers->addresses()), HasSubstr("1 keys of slot " + slot));
}

}  // namespace
}  // namespace redis::testing
