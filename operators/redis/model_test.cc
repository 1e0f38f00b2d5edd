#include "model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_model.h"

namespace redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Model, OfAHealthyCluster) {
  const Model model(a_cluster());
  EXPECT_TRUE(model.all_answer());
  EXPECT_TRUE(model.unowned.empty() && model.disputed.empty() && model.disagreed.empty());
  EXPECT_THAT(model.ghosts, IsEmpty());
  EXPECT_EQ(model.slots_of("m0").str(), "0-5460");
  EXPECT_EQ(model.slots_of("m1").str(), "5461-10922");
  EXPECT_EQ(model.owner(16383), "m2");
  ASSERT_EQ(model.masters().size(), 3U);
  ASSERT_EQ(model.replicas_of("m1").size(), 1U);
  EXPECT_EQ(model.replicas_of("m1")[0]->id, "r1");
}

TEST(Model, SilentOwnersAreWhatOthersSee) {
  auto nodes = a_cluster();
  silence(nodes, "m2");
  const Model model(nodes);
  EXPECT_FALSE(model.all_answer());
  EXPECT_EQ(model.slots_of("m2").size(), 5461U);
  EXPECT_THAT(model.ghosts, ElementsAre("m2"));
  EXPECT_TRUE(model.disagreed.empty());
}

TEST(Model, WhoAnswersAndDoesNotClaimOwnsNothing) {
  auto nodes = a_cluster();
  auto& m0 = by_id(nodes, "m0");
  line_of(m0, "m0").slots.erase(7);
  const Model model(nodes);
  EXPECT_EQ(model.unowned.str(), "7");
  EXPECT_EQ(model.disagreed.str(), "7");
}

TEST(Model, OfTwoClaimantsTheHigherEpochOwns) {
  auto nodes = a_cluster();
  line_of(by_id(nodes, "m1"), "m1").slots.insert(7);  // epoch 2 against 1
  const Model model(nodes);
  EXPECT_EQ(model.owner(7), "m1");
  EXPECT_EQ(model.disputed.str(), "7");
  EXPECT_EQ(model.disagreed.str(), "7");
}

TEST(Model, BlankNodesDisagreeWithNobody) {
  auto nodes = a_cluster();
  Node blank;
  blank.pod.ordinal = 6;
  blank.id = "new";
  NodeLine line;
  line.id = "new";
  line.myself = line.master = line.linked = true;
  blank.sees = {line};
  nodes.push_back(blank);
  const Model model(nodes);
  EXPECT_TRUE(model.find("new")->is_blank());
  EXPECT_TRUE(model.disagreed.empty());
}

TEST(Model, WhoIsBeingIntroducedIsStillBlank) {
  auto nodes = a_cluster(1, 0);
  nodes[0].sees[0].slots = SlotSet();
  EXPECT_TRUE(nodes[0].is_blank());
  NodeLine meeting;
  meeting.handshake = true;
  nodes[0].sees.push_back(meeting);
  EXPECT_TRUE(nodes[0].is_blank());
  nodes[0].sees[1].handshake = false;
  EXPECT_FALSE(nodes[0].is_blank());
}

}  // namespace
}  // namespace redis
