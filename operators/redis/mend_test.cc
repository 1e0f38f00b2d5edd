#include "mend.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_model.h"

namespace redis {

static void PrintTo(const Move& move, std::ostream* out) {
  *out << move.from << "->" << move.to << " " << move.slots.str();
}
static void PrintTo(const Rescue& rescue, std::ostream* out) {
  *out << rescue.holder << "=>" << rescue.owner << " " << rescue.slots.str();
}
static void PrintTo(const Command& command, std::ostream* out) {
  *out << command.node;
  for (const auto& word : command.words) *out << " " << word;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Three shards: m0 has 0-5460, m1 5461-10922, m2 10923-16383, on demo-0 to demo-2.
class Mend : public testing::Test {
 protected:
  void importing(const std::string& node, std::size_t slot, const std::string& from) {
    line_of(by_id(nodes, node), node).open.push_back({slot, true, from});
  }
  void migrating(const std::string& node, std::size_t slot, const std::string& to) {
    line_of(by_id(nodes, node), node).open.push_back({slot, false, to});
  }
  void keys(const std::string& node, std::size_t slot, std::int64_t count) {
    by_id(nodes, node).keys_in_slot[slot] = count;
  }
  // The master died, and its replica took its place.
  void fail_over(const std::string& master, const std::string& replica) {
    silence(nodes, master);
    const auto slots = line_of(by_id(nodes, replica), master).slots;
    tell_all(nodes, master, [](NodeLine& line) {
      line.failed = true;
      line.slots = {};
    });
    tell_all(nodes, replica, [&](NodeLine& line) {
      line.master = true;
      line.replica = false;
      line.master_id = "";
      line.slots = slots;
      line.config_epoch = 10;
    });
  }
  // As fail_over(), but the importing node did not take the news of one slot.
  void fail_over_unseen_by(const std::string& importer, std::size_t slot) {
    fail_over("m0", "r0");
    auto& node = by_id(nodes, importer);
    line_of(node, "r0").slots.erase(slot);
    line_of(node, "m0").slots.insert(slot);
    node.state_ok = false;
  }
  // The pod of a lost node is back, as a replica.
  void return_as_replica(const std::string& id, std::size_t pod, const std::string& of) {
    tell_all(nodes, id, [&](NodeLine& line) {
      line.failed = line.master = false;
      line.replica = true;
      line.master_id = of;
    });
    auto& node = nodes[pod];
    node.trouble = "";
    node.id = id;
    node.sees = nodes[(pod + 1) % nodes.size()].sees;
    for (auto& line : node.sees) line.myself = line.id == id;
    node.state_ok = true;
  }

  Mending look(bool everybody = true) const { return mend(Model(nodes), everybody); }

  static Command setslot(std::string node, std::size_t slot, std::string node_id) {
    return {std::move(node), {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", std::move(node_id)}};
  }
  static Command stable(std::string node, std::size_t slot) {
    return {std::move(node),
            {"CLUSTER", "SETSLOT", std::to_string(slot), "STABLE"},
            {"ERR You can use SETSLOT only with masters"}};
  }
  static Move move(std::string from, std::string to, std::string_view slots) {
    return {std::move(from), std::move(to), SlotSet::parse(slots).value()};
  }
  static Rescue rescue(std::string holder, std::string owner, std::string_view slots) {
    return {std::move(holder), std::move(owner), SlotSet::parse(slots).value()};
  }

  static void expect(const Mending& found, std::vector<Command> commands, std::vector<Move> moves,
                     std::vector<Rescue> rescues) {
    EXPECT_THAT(found.commands, testing::ElementsAreArray(commands));
    EXPECT_THAT(found.moves, testing::ElementsAreArray(moves));
    EXPECT_THAT(found.rescues, testing::ElementsAreArray(rescues));
    EXPECT_EQ(found.waiting, "");
  }
  static void expect_waiting(const Mending& found, std::string_view why) {
    EXPECT_EQ(found.waiting, why);
    EXPECT_THAT(found.commands, IsEmpty());
    EXPECT_THAT(found.moves, IsEmpty());
    EXPECT_THAT(found.rescues, IsEmpty());
  }

  std::vector<Node> nodes = a_cluster();
};

TEST_F(Mend, NothingToDo) {
  const auto found = look();
  EXPECT_TRUE(found.empty());
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(Mend, AMoveThatWasCutShortGoesOn) {
  for (const std::size_t slot : {3U, 4U, 5U, 9U}) {
    migrating("m0", slot, "m1");
    importing("m1", slot, "m0");
    keys("m0", slot, 10);
    keys("m1", slot, 10);
  }
  migrating("m2", 16000, "m1");
  importing("m1", 16000, "m2");
  const auto found = look();
  expect(found, {}, {move("m0", "m1", "3-5 9"), move("m2", "m1", "16000")}, {});
  EXPECT_THAT(found.notes, ElementsAre("slots 3-5 9: the move from demo-0 to demo-1 was cut short and goes on",
                                       "slot 16000: the move from demo-2 to demo-1 was cut short and goes on"));
}

TEST_F(Mend, HalfOpenedByTheReceiver) {
  importing("m1", 3, "m0");
  keys("m0", 3, 10);
  const auto found = look();
  expect(found, {stable("m1", 3)}, {}, {});
  EXPECT_THAT(found.notes, ElementsAre("slot 3: open on demo-1 for nothing; closed"));
}

TEST_F(Mend, HalfOpenedByTheSource) {
  migrating("m0", 3, "m1");
  keys("m0", 3, 10);
  expect(look(), {stable("m0", 3)}, {}, {});
}

TEST_F(Mend, AReceiverThatLostItsMarkAndHasKeysGetsTheRest) {
  migrating("m0", 3, "m1");
  keys("m0", 3, 10);
  keys("m1", 3, 1);
  expect(look(), {}, {move("m0", "m1", "3")}, {});
}

TEST_F(Mend, SourceDiedAndTheReceiverHasKeys) {
  importing("m1", 3, "m0");
  keys("m1", 3, 7);
  fail_over_unseen_by("m1", 3);
  keys("r0", 3, 20);
  const auto found = look();
  expect(found, {setslot("m1", 3, "r0")}, {move("r0", "m1", "3")}, {});
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("slot 3: the owner was lost on the way to demo-1; the move goes on from "
                                    "demo-3")));
}

TEST_F(Mend, SourceDiedAndCameBackAsAReplica) {
  importing("m1", 3, "m0");
  keys("m1", 3, 7);
  fail_over("m0", "r0");
  return_as_replica("m0", 0, "r0");
  expect(look(), {}, {move("r0", "m1", "3")}, {});
}

TEST_F(Mend, SourceDiedBeforeAnyKeyWasMoved) {
  importing("m1", 3, "m0");
  fail_over_unseen_by("m1", 3);
  expect(look(), {stable("m1", 3)}, {}, {});
}

TEST_F(Mend, SourceDiedAndNobodyTookItsPlaceYet) {
  importing("m1", 3, "m0");
  keys("m1", 3, 7);
  silence(nodes, "m0");
  expect_waiting(look(), "slot 3: the owner is silent: m0, demo-0");
}

TEST_F(Mend, SeveralTookKeysOfALostSource) {
  importing("m1", 3, "m0");
  importing("m2", 3, "m0");
  keys("m1", 3, 7);
  keys("m2", 3, 8);
  fail_over_unseen_by("m1", 3);
  expect(look(), {setslot("m1", 3, "r0")}, {}, {rescue("m1", "r0", "3"), rescue("m2", "r0", "3")});
}

TEST_F(Mend, TargetDiedAndItsReplicaHasTheKeys) {
  migrating("m0", 3, "m1");
  keys("m0", 3, 5);
  fail_over("m1", "r1");
  keys("r1", 3, 5);
  const auto found = look();
  expect(found, {}, {move("m0", "r1", "3")}, {});
  EXPECT_THAT(found.notes, ElementsAre("slot 3: the receiver was lost; the move from demo-0 goes on to demo-4"));
  return_as_replica("m1", 1, "r1");
  expect(look(), {}, {move("m0", "r1", "3")}, {});
  keys("r1", 3, 0);
  expect(look(), {stable("m0", 3)}, {}, {});
}

TEST_F(Mend, TargetDiedAndNobodyTookItsPlaceYet) {
  migrating("m0", 3, "m1");
  keys("m0", 3, 5);
  silence(nodes, "m1");
  expect_waiting(look(), "slot 3: the receiver is silent: m1, demo-1");
  keys("m2", 3, 1);
  expect_waiting(look(), "slot 3: the receiver is silent: m1, demo-1");
}

TEST_F(Mend, TargetWithoutSlotsDiedAndItsReplicaMayHaveItsKeys) {
  migrating("m0", 3, "new");
  tell_all(nodes, "r1", [](NodeLine& line) { line.master_id = "new"; });
  const auto found = look();
  expect_waiting(found, "slot 3: the receiver is silent: new");
}

TEST_F(Mend, TargetIsGoneForGood) {
  migrating("m0", 3, "0123456789abcdef");
  const auto found = look();
  expect(found, {stable("m0", 3)}, {}, {});
  EXPECT_THAT(found.notes,
              ElementsAre("slot 3: the receiver of a move from demo-0 is gone for good, with the keys it had got",
                          "slot 3: open on demo-0 for nothing; closed"));
  expect_waiting(look(false), "slot 3: the receiver is silent: 01234567");
  silence(nodes, "r2");
  expect_waiting(look(), "slot 3: the receiver is silent: 01234567, demo-5");
}

TEST_F(Mend, OpenTowardsItself) {
  migrating("m0", 3, "m0");
  importing("m1", 4, "m1");
  expect(look(), {stable("m0", 3), stable("m1", 4)}, {}, {});
  keys("m1", 3, 2);
  expect(look(), {stable("m0", 3), stable("m1", 4)}, {}, {rescue("m1", "m0", "3")});
}

TEST_F(Mend, HalfClosed) {
  migrating("m1", 3, "m0");
  expect(look(), {stable("m1", 3)}, {}, {});
  keys("m1", 3, 2);
  expect(look(), {}, {}, {rescue("m1", "m0", "3")});
}

TEST_F(Mend, TheOwnerImports) {
  importing("m0", 3, "m1");
  expect(look(), {stable("m0", 3)}, {}, {});
  migrating("m1", 3, "m0");
  expect(look(), {stable("m0", 3), stable("m1", 3)}, {}, {});
  keys("m1", 3, 2);
  expect(look(), {stable("m0", 3)}, {}, {rescue("m1", "m0", "3")});
}

TEST_F(Mend, ImportedFromOneThatIsNotTheOwner) {
  importing("m2", 3, "m1");
  expect(look(), {stable("m2", 3)}, {}, {});
  keys("m2", 3, 5);
  expect(look(), {}, {}, {rescue("m2", "m0", "3")});
}

TEST_F(Mend, ImportedFromAnUnknownNode) {
  importing("m2", 3, "nobody");
  expect(look(), {stable("m2", 3)}, {}, {});
  keys("m2", 3, 5);
  expect(look(), {}, {move("m0", "m2", "3")}, {});
}

TEST_F(Mend, SeveralImportAndTheSourceNamesOne) {
  migrating("m0", 3, "m1");
  importing("m1", 3, "m0");
  importing("m2", 3, "m0");
  expect(look(), {stable("m2", 3)}, {move("m0", "m1", "3")}, {});
  keys("m2", 3, 5);
  expect(look(), {}, {move("m0", "m1", "3")}, {});
}

TEST_F(Mend, TheSourceNamesAnotherThanTheOneThatHasKeys) {
  migrating("m0", 3, "m1");
  importing("m2", 3, "m0");
  keys("m2", 3, 5);
  expect(look(), {stable("m0", 3)}, {}, {rescue("m2", "m0", "3")});
}

TEST_F(Mend, HiddenKeys) {
  for (std::size_t slot = 100; slot < 200; ++slot) keys("m1", slot, 3);
  keys("m2", 100, 3);
  const auto found = look();
  expect(found, {}, {}, {rescue("m1", "m0", "100-199"), rescue("m2", "m0", "100")});
  EXPECT_THAT(found.notes, ElementsAre("slots 100-199: demo-1 has keys that clients can not find; they go to demo-0",
                                       "slot 100: demo-2 has keys that clients can not find; they go to demo-0"));
}

TEST_F(Mend, HiddenKeysThatARestartMadeImporting) {
  importing("m1", 3, "m0");
  keys("m1", 3, 5);
  expect(look(), {}, {}, {rescue("m1", "m0", "3")});
}

TEST_F(Mend, KeysOfReplicasAreNotHidden) {
  keys("r0", 3, 5);
  keys("r1", 3, 5);
  importing("r1", 3, "m0");
  EXPECT_TRUE(look().empty());
}

TEST_F(Mend, TwoClaimants) {
  line_of(by_id(nodes, "m1"), "m1").slots.insert(3);
  keys("m0", 3, 5);
  keys("m1", 3, 5);
  expect_waiting(look(), "slot 3: claimed by demo-0 and demo-1");
}

TEST_F(Mend, NobodyOwnsIt) {
  tell_all(nodes, "m0", [](NodeLine& line) { line.slots.erase(3); });
  importing("m1", 3, "m0");
  keys("m1", 3, 5);
  expect_waiting(look(), "slot 3: no owner");
}

TEST_F(Mend, WhoIsNotWellIsWaitedFor) {
  migrating("m0", 3, "m1");
  importing("m1", 3, "m0");
  by_id(nodes, "m1").loading = true;
  expect_waiting(look(), "slot 3: demo-1 is reading its data");
  by_id(nodes, "m1").loading = false;
  by_id(nodes, "m1").state_ok = false;
  expect_waiting(look(), "slot 3: demo-1 takes the cluster for down");
  by_id(nodes, "m1").state_ok = true;
  line_of(by_id(nodes, "m0"), "m1").suspected = true;
  expect_waiting(look(), "slot 3: demo-0 does not reach demo-1");
  std::erase_if(by_id(nodes, "m0").sees, [](const NodeLine& line) { return line.id == "m1"; });
  expect_waiting(look(), "slot 3: demo-0 does not know demo-1 yet");
}

// Who gives its last slot away becomes a replica, and its other keys are dropped.
TEST_F(Mend, HiddenKeysLeaveBeforeTheLastSlotDoes) {
  tell_all(nodes, "m0", [](NodeLine& line) { line.slots = SlotSet::of({3}); });
  tell_all(nodes, "m2", [](NodeLine& line) { line.slots |= SlotSet::range(0, 5460) - SlotSet::of({3}); });
  migrating("m0", 3, "m1");
  importing("m1", 3, "m0");
  expect(look(), {}, {move("m0", "m1", "3")}, {});
  keys("m0", 7000, 1);
  expect(look(), {}, {}, {rescue("m0", "m1", "7000")});
}

// Slot 3 went from m1 to m0, then m1 got a higher epoch, and r1 came back and heard of that first.
TEST_F(Mend, OldNewsAreOvertakenByANewEpoch) {
  tell_all(nodes, "m1", [](NodeLine& line) { line.config_epoch = 9; });
  auto& late = by_id(nodes, "r1");
  line_of(late, "m0").slots.erase(3);
  line_of(late, "m1").slots.insert(3);
  const auto found = look();
  expect(found, {{"m0", {"CLUSTER", "BUMPEPOCH"}}}, {}, {});
  EXPECT_THAT(found.notes, ElementsAre("slot 3: demo-4 does not take demo-0 for the owner; it gets a new epoch"));
  tell_all(nodes, "m0", [](NodeLine& line) { line.config_epoch = 10; });
  EXPECT_TRUE(look().empty()) << "it will learn of it";
  tell_all(nodes, "m0", [](NodeLine& line) { line.config_epoch = 1; });
  silence(nodes, "r2");
  EXPECT_TRUE(look().empty()) << "a silent node may know better";
}

TEST_F(Mend, OneThatWaitsDoesNotHoldUpTheOthers) {
  migrating("m0", 3, "m1");
  silence(nodes, "m1");
  importing("m2", 4, "m0");
  const auto found = look();
  EXPECT_THAT(found.commands, ElementsAre(stable("m2", 4)));
  EXPECT_EQ(found.waiting, "slot 3: the receiver is silent: m1, demo-1");
}

}  // namespace
}  // namespace redis
