#include "decide.h"

#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_model.h"

namespace redis {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Wanted wanted(int replicas, int pods) {
  Wanted out;
  out.replicas = replicas;
  out.pods = pods;
  out.was_running = true;
  return out;
}

Decision decide(std::vector<Node> nodes, const Wanted& wanted) {
  return redis::decide(Model(std::move(nodes)), wanted);
}

// Nothing that could lose or move anything.
void expect_hands_off(const Decision& decision) {
  EXPECT_THAT(decision.commands, IsEmpty());
  EXPECT_THAT(decision.failovers, IsEmpty());
  EXPECT_THAT(decision.moves, IsEmpty());
  EXPECT_THAT(decision.rescues, IsEmpty());
  EXPECT_EQ(decision.replace_pod, "");
}

TEST(Decide, AHealthyClusterIsLeftAlone) {
  const auto decision = decide(a_cluster(), wanted(6, 6));
  EXPECT_TRUE(decision.calm);
  EXPECT_TRUE(decision.serves);
  EXPECT_EQ(decision.phase, Phase::Running);
  EXPECT_EQ(decision.message, "");
  EXPECT_EQ(decision.pods, 6);
  expect_hands_off(decision);
}

TEST(Decide, ASilentMasterIsWaitedFor) {
  auto nodes = a_cluster();
  silence(nodes, "m1");
  const auto decision = decide(nodes, wanted(6, 6));
  expect_hands_off(decision);
  EXPECT_FALSE(decision.serves);
  EXPECT_EQ(decision.degraded, "NodesMissing");
  EXPECT_EQ(decision.phase, Phase::Running) << "its replica takes over";
}

TEST(Decide, UncoveredSlotsAreNamedAndNothingIsTouched) {
  auto nodes = a_cluster();
  silence(nodes, "m1");
  silence(nodes, "r1");
  const auto decision = decide(nodes, wanted(6, 6));
  expect_hands_off(decision);
  EXPECT_EQ(decision.phase, Phase::Failed);
  EXPECT_EQ(decision.degraded, "SlotsUncovered");
  EXPECT_THAT(decision.message, AllOf(HasSubstr("5461-10922"), HasSubstr("demo-1: connection refused")));
}

TEST(Decide, WithoutAMajorityNothingIsTouched) {
  auto nodes = a_cluster();
  silence(nodes, "m1");
  silence(nodes, "m2");
  const auto decision = decide(nodes, wanted(6, 6));
  expect_hands_off(decision);
  EXPECT_EQ(decision.phase, Phase::Failed);
  EXPECT_EQ(decision.degraded, "QuorumLost");
}

TEST(Decide, KeysWithoutSlotsAreNotOverwritten) {
  auto nodes = a_cluster();
  for (auto& node : nodes) {
    for (auto& line : node.sees) line.slots = SlotSet();
  }
  by_id(nodes, "m1").keys = 5;
  const auto decision = decide(nodes, wanted(6, 6));
  expect_hands_off(decision);
  EXPECT_EQ(decision.phase, Phase::Failed);
}

TEST(Decide, AMasterWhosePodGoesGivesWay) {
  auto nodes = a_cluster();
  by_id(nodes, "m1").pod.terminating = true;
  EXPECT_THAT(decide(nodes, wanted(6, 6)).failovers, ElementsAre("r1"));
  by_id(nodes, "r1").link_up = false;
  EXPECT_THAT(decide(nodes, wanted(6, 6)).failovers, IsEmpty()) << "it would lose what the replica has not";
}

// It has no slots, so nobody takes its place; and its replica alone has what came to it.
TEST(Decide, TheReplicaOfAReceiverThatDiedKeepsItsKeys) {
  auto nodes = a_cluster(4);
  for (auto& node : nodes) {
    line_of(node, "m0").slots |= line_of(node, "m3").slots;
    line_of(node, "m3").slots = SlotSet();
  }
  line_of(by_id(nodes, "m0"), "m0").open = {{16000, false, "m3"}};
  silence(nodes, "m3");
  expect_hands_off(decide(nodes, wanted(8, 8)));

  // Its disk is lost, too: a person must decide about the replica.
  auto& back = *std::ranges::find_if(nodes, [](const auto& node) { return !node.answers(); });
  back = a_cluster(1, 0)[0];
  back.id = back.sees[0].id = "new";
  back.sees[0].slots = SlotSet();
  back.pod.ordinal = 3;
  back.pod.address = "10.0.9.9";
  for (auto& node : nodes) {
    if (node.id == "new") continue;
    NodeLine line = back.sees[0];
    line.myself = false;
    line.address = "10.0.9.9";
    node.sees.push_back(line);
    auto other = node.sees[0];
    for (const auto& seen : node.sees) {
      if (seen.myself) other = seen;
    }
    other.myself = false;
    back.sees.push_back(other);
  }
  const auto decision = decide(nodes, wanted(8, 8));
  for (const auto& command : decision.commands) EXPECT_NE(command.node, "r3") << command.words.at(1);
}

TEST(Decide, AnOwnerThatDoesNotKnowIsTold) {
  auto nodes = a_cluster();
  line_of(by_id(nodes, "m2"), "m2").slots.erase(11242);
  const auto decision = decide(nodes, wanted(6, 6));
  EXPECT_THAT(decision.commands, ElementsAre(Command{"m2", {"CLUSTER", "SETSLOT", "11242", "NODE", "m2"}},
                                             Command{"m2", {"CLUSTER", "BUMPEPOCH"}}));
  line_of(by_id(nodes, "r0"), "m2").slots.erase(11242);
  by_id(nodes, "m0").keys = 1;  // there is something to lose
  expect_hands_off(decide(nodes, wanted(6, 6)));
}

TEST(Decide, AMovedNodeIsIntroducedAgain) {
  auto nodes = a_cluster();
  by_id(nodes, "r2").pod.address = "10.0.9.9";
  const auto decision = decide(nodes, wanted(6, 6));
  ASSERT_THAT(decision.commands, SizeIs(5));
  EXPECT_EQ(decision.commands[0], (Command{"m0", {"CLUSTER", "MEET", "10.0.9.9", "6379"}}));
}

TEST(Decide, NodesOfAnotherClusterAreLeftAlone) {
  auto nodes = a_cluster();
  auto other = a_cluster(1, 1);
  auto& stranger = other[0];
  stranger.id = stranger.sees[0].id = "stranger";
  stranger.sees[1].id = "its-replica";
  stranger.pod = by_id(nodes, "r2").pod;
  for (auto& node : nodes) std::erase_if(node.sees, [](const auto& line) { return line.id == "r2"; });
  std::erase_if(nodes, [](const auto& node) { return node.id == "r2"; });
  nodes.push_back(stranger);
  const auto decision = decide(nodes, wanted(6, 6));
  expect_hands_off(decision);
  EXPECT_THAT(decision.message, HasSubstr("demo-5"));
}

TEST(Decide, GhostsAreForgottenOnlyWhenAllPodsAreThere) {
  auto nodes = a_cluster();
  NodeLine ghost;
  ghost.id = "ghost";
  ghost.replica = ghost.failed = true;
  ghost.master_id = "m0";
  for (auto& node : nodes) node.sees.push_back(ghost);
  auto decision = decide(nodes, wanted(6, 6));
  ASSERT_THAT(decision.commands, SizeIs(6));
  EXPECT_THAT(decision.commands, Each(Field(&Command::words, ElementsAre("CLUSTER", "FORGET", "ghost"))));

  auto with_slots = nodes;
  tell_all(with_slots, "ghost", [](NodeLine& line) { line.slots.insert(7); });
  line_of(by_id(with_slots, "m0"), "m0").slots.erase(7);
  expect_hands_off(decide(with_slots, wanted(6, 6)));

  silence(nodes, "r1");
  decision = decide(nodes, wanted(6, 6));
  expect_hands_off(decision);
  EXPECT_EQ(decision.degraded, "NodesMissing") << "the ghost may be who is silent";
}

TEST(Decide, ReplicasAreReplacedFirstAndMastersGiveWay) {
  auto nodes = a_cluster();
  for (auto& node : nodes) node.pod.outdated = true;
  auto decision = decide(nodes, wanted(6, 6));
  EXPECT_EQ(decision.phase, Phase::Upgrading);
  EXPECT_EQ(decision.replace_pod, "demo-5");
  for (const auto* id : {"r0", "r1", "r2"}) by_id(nodes, id).pod.outdated = false;
  decision = decide(nodes, wanted(6, 6));
  EXPECT_EQ(decision.replace_pod, "");
  EXPECT_THAT(decision.failovers, ElementsAre("r2"));
  by_id(nodes, "r0").pod.ready = false;
  expect_hands_off(decide(nodes, wanted(6, 6)));
  auto only_on_delete = wanted(6, 6);
  only_on_delete.rolls = false;
  by_id(nodes, "r0").pod.ready = true;
  EXPECT_TRUE(decide(nodes, only_on_delete).calm);
}

TEST(Decide, ABrokenPodOfAnOlderTemplateIsReplaced) {
  auto nodes = a_cluster();
  silence(nodes, "r2");
  auto& pod = std::ranges::find_if(nodes, [](const auto& node) { return !node.answers(); })->pod;
  pod.ready = false;
  EXPECT_EQ(decide(nodes, wanted(6, 6)).replace_pod, "");
  pod.outdated = true;
  EXPECT_EQ(decide(nodes, wanted(6, 6)).replace_pod, "demo-5");
}

TEST(Decide, StrategiesAreCheckedBeforeAnythingIsTouched) {
  auto bad = wanted(8, 6);
  bad.assigns = true;
  bad.assignments = {{1000, {"nobody"}}};
  const auto decision = decide(a_cluster(), bad);
  expect_hands_off(decision);
  EXPECT_EQ(decision.pods, 6);
  EXPECT_EQ(decision.phase, Phase::Running);
  EXPECT_EQ(decision.degraded, "InvalidStrategy");
  EXPECT_THAT(decision.message, HasSubstr("fromReplicas"));
}

TEST(Decide, SpreadsEvenlyWhatIsNot) {
  auto nodes = a_cluster();
  for (auto& node : nodes) {
    line_of(node, "m0").slots |= SlotSet::range(5461, 6460);
    line_of(node, "m1").slots -= SlotSet::range(5461, 6460);
  }
  const auto decision = decide(nodes, wanted(6, 6));
  EXPECT_FALSE(decision.moves.empty());
  auto assigned = wanted(6, 6);
  assigned.assigns = true;
  EXPECT_TRUE(decide(nodes, assigned).calm) << "as somebody wanted it";
}

// ---- Whole lives, on a small stand-in for Redis whose gossip is instant.

class Simulated {
 public:
  explicit Simulated(unsigned seed) : random_(seed) {}

  struct Server {
    PodFacts pod;
    std::string id;
    bool master = true;
    std::string follows;
    SlotSet slots;
    std::uint64_t epoch = 0;
    std::map<std::string, std::string> knows;  // id → address
    std::int64_t keys = 0;
  };

  std::vector<Server> servers;
  std::set<std::size_t> forgotten;

  // The StatefulSet.
  void set_pods(int count) {
    while (static_cast<int>(servers.size()) > count) servers.pop_back();
    for (int i = static_cast<int>(servers.size()); i < count; ++i) {
      Server server;
      server.pod = {fmt::format("demo-{}", i), i, new_address(), fmt::format("host-{}", i % 3), "", "", true};
      server.id = fmt::format("id-{}", ++ids_);
      servers.push_back(std::move(server));
    }
  }
  void move_pod(std::size_t i) { servers[i].pod.address = new_address(); }
  void lose_disk(std::size_t i) {
    auto& server = servers[i];
    const auto pod = server.pod;
    // Somebody takes over, as Redis does.
    if (!server.slots.empty()) take_over(*replica_of(server.id));
    server = Server();
    server.pod = pod;
    server.pod.address = new_address();
    server.id = fmt::format("id-{}", ++ids_);
  }
  Server* find(const std::string& id) {
    const auto found = std::ranges::find(servers, id, &Server::id);
    return found == servers.end() ? nullptr : &*found;
  }
  Server* replica_of(const std::string& id) {
    const auto found = std::ranges::find(servers, id, &Server::follows);
    return found == servers.end() ? nullptr : &*found;
  }

  Model look() const {
    std::vector<Node> nodes;
    for (const auto& server : servers) {
      Node node;
      node.pod = server.pod;
      node.id = server.id;
      node.state_ok = node.link_up = true;
      node.keys = server.keys;
      node.sees.push_back(line(server, server.pod.address, true));
      for (const auto& [id, address] : server.knows) {
        const auto other = std::ranges::find(servers, id, &Server::id);
        NodeLine seen;
        seen.id = id;
        seen.replica = seen.failed = true;
        if (other != servers.end()) seen = line(*other, address, false);
        node.sees.push_back(std::move(seen));
      }
      nodes.push_back(std::move(node));
    }
    return Model(std::move(nodes));
  }

  // Does some of it: the process may die at any time.
  void act(const Decision& decision, int percent) {
    for (const auto& command : decision.commands) {
      if (roll() < percent) command_one(command);
    }
    for (const auto& id : decision.failovers) {
      if (roll() < percent) take_over(*find(id));
    }
    for (const auto& move : decision.moves) {
      const auto part = roll() < percent ? move.slots : move.slots.first(move.slots.size() / 2);
      ASSERT_TRUE((part - find(move.from)->slots).empty()) << "it gives what it has not";
      find(move.from)->slots -= part;
      find(move.to)->slots |= part;
      auto& from = *find(move.from);
      if (from.slots.empty()) {  // Redis makes it a replica of who got the last slot
        from.master = false;
        from.follows = move.to;
        for (auto& server : servers) {
          if (server.follows == from.id) server.follows = move.to;
        }
      }
    }
    if (!decision.replace_pod.empty()) {
      auto& pod = std::ranges::find_if(servers, [&](auto& s) { return s.pod.name == decision.replace_pod; })->pod;
      pod.address = new_address();
      pod.outdated = false;
    }
  }

 private:
  int roll() { return std::uniform_int_distribution<int>(0, 99)(random_); }
  std::string new_address() {
    ++addresses_;
    return fmt::format("10.1.{}.{}", addresses_ / 200, addresses_ % 200);
  }

  static NodeLine line(const Server& server, const std::string& address, bool myself) {
    NodeLine out;
    out.id = server.id;
    out.address = address;
    out.myself = myself;
    out.master = server.master;
    out.replica = !server.master;
    out.master_id = server.follows;
    out.config_epoch = server.epoch;
    out.linked = true;
    out.slots = server.slots;
    return out;
  }

  void take_over(Server& replica) {
    auto& master = *find(replica.follows);
    std::swap(replica.slots, master.slots);
    replica.master = true;
    replica.follows = "";
    master.master = false;
    master.follows = replica.id;
    for (auto& server : servers) {
      if (server.follows == master.id) server.follows = replica.id;
    }
  }

  void command_one(const Command& command) {
    auto* found = find(command.node);
    if (found == nullptr) return;           // a RESET has just given it another id
    if (command.words.size() == 1) return;  // SAVE and the like: it has no disk
    auto& node = *found;
    const auto& words = command.words;
    if (words[1] == "SET-CONFIG-EPOCH") node.epoch = std::stoul(words[2]);
    if (words[1] == "MEET") {
      auto& other = *std::ranges::find_if(servers, [&](auto& s) { return s.pod.address == words[2]; });
      // All that either knows, both know from now on.
      std::set<std::string> all = {node.id, other.id};
      for (const auto* server : {&node, &other}) {
        for (const auto& [id, address] : server->knows) all.insert(id);
      }
      for (const auto& id : all) {
        auto* server = find(id);
        if (server == nullptr) continue;
        for (const auto& known : all) {
          if (known == id) continue;
          const auto* met = find(known);
          if (met == &node || met == &other || !server->knows.contains(known)) {
            server->knows[known] = met == nullptr ? "" : met->pod.address;
          }
        }
      }
    }
    if (words[1] == "ADDSLOTSRANGE") {
      for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
        node.slots |= SlotSet::range(std::stoul(words[i]), std::stoul(words[i + 1]));
      }
    }
    if (words[1] == "REPLICATE") {
      ASSERT_TRUE(node.slots.empty());
      node.master = false;
      node.follows = words[2];
    }
    if (words[1] == "FORGET") {
      ASSERT_NE(node.follows, words[2]);
      node.knows.erase(words[2]);
    }
    if (words[1] == "RESET") {
      ASSERT_TRUE(node.slots.empty());
      const auto pod = node.pod;
      node = Server();
      node.pod = pod;
      node.id = fmt::format("id-{}", ++ids_);
    }
  }

  std::mt19937 random_;
  int ids_ = 0;
  int addresses_ = 0;
};

class DecideLife : public testing::TestWithParam<unsigned> {
 protected:
  // Until nothing is to be done, with a process that dies often.
  void settle(int replicas) {
    Decision decision;
    for (int i = 0; i < 500; ++i) {
      want_.replicas = replicas;
      want_.pods = static_cast<int>(cluster_.servers.size());
      const auto model = cluster_.look();
      decision = redis::decide(model, want_);
      if (decision.plan) want_.plan = *decision.plan;
      ASSERT_NE(decision.phase, Phase::Failed) << decision.message;
      if (decision.calm) {
        want_.was_running = true;
        return expect_right(replicas, model);
      }
      cluster_.set_pods(decision.pods);
      cluster_.act(decision, 70);
      if (HasFatalFailure()) return;
    }
    FAIL() << "never done: " << decision.message;
  }

  void expect_right(int replicas, const Model& model) {
    EXPECT_EQ(static_cast<int>(cluster_.servers.size()), replicas);
    EXPECT_TRUE(model.unowned.empty() && model.disputed.empty() && model.disagreed.empty());
    EXPECT_THAT(model.ghosts, IsEmpty());
    EXPECT_THAT(model.masters(), SizeIs(replicas / 2));
    for (const auto* master : model.masters()) {
      EXPECT_THAT(model.replicas_of(master->id), SizeIs(1)) << master->pod.name;
      EXPECT_FALSE(master->self().slots.empty());
    }
  }

  Simulated cluster_{GetParam()};
  Wanted want_;
};

TEST_P(DecideLife, IsMadeGrowsMovesShrinks) {
  settle(6);
  const auto made = cluster_.look();
  for (const auto* master : made.masters()) {
    const auto replica = made.replicas_of(master->id);
    ASSERT_THAT(replica, SizeIs(1));
    EXPECT_NE(replica[0]->pod.host, master->pod.host);
  }
  settle(8);
  const auto grown = cluster_.look();
  for (const auto* master : grown.masters()) EXPECT_EQ(master->self().slots.size(), 4096U);
  cluster_.move_pod(2);
  settle(8);
  for (std::size_t i = 0; i < 8; ++i) cluster_.move_pod(i);
  settle(8);
  cluster_.lose_disk(GetParam() % 8);
  settle(8);
  for (auto& server : cluster_.servers) server.pod.outdated = true;
  settle(8);
  settle(6);
  settle(12);
  settle(6);
}

// The pods are still there, but as replicas, when somebody wants them as they were.
TEST_P(DecideLife, ADrainThatIsCalledOffIsUndone) {
  settle(8);
  for (int i = 0; i < 3 + static_cast<int>(GetParam() % 4); ++i) {
    want_.replicas = 6;
    want_.pods = 8;
    const auto model = cluster_.look();
    const auto decision = redis::decide(model, want_);
    if (decision.pods == 8) cluster_.act(decision, 100);
  }
  settle(8);
}

TEST_P(DecideLife, AssignsExactly) {
  settle(6);
  std::vector<std::string> masters;
  const auto made = cluster_.look();
  for (const auto* master : made.masters()) masters.push_back(master->id);
  want_.assigns = true;
  want_.assignments = {{2000, {masters[0]}}, {1000, {masters[1], masters[2]}}};
  settle(10);
  std::multiset<std::size_t> sizes;
  const auto grown = cluster_.look();
  for (const auto* master : grown.masters()) sizes.insert(master->self().slots.size());
  EXPECT_THAT(sizes, ElementsAre(1000, 2000, 3461, 4961, 4962));
}

INSTANTIATE_TEST_SUITE_P(Seeds, DecideLife, testing::Range(1U, 13U));

}  // namespace
}  // namespace redis
