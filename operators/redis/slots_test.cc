#include "slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redis {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(SlotOf, IsWhatRedisSays) {  // CLUSTER KEYSLOT
  EXPECT_EQ(slot_of("123456789"), 0x31C3U);
  EXPECT_EQ(slot_of("foo"), 12182U);
  EXPECT_EQ(slot_of(""), 0U);
  EXPECT_EQ(slot_of("{foo}bar"), slot_of("foo"));
  EXPECT_EQ(slot_of("a{foo}{bar}"), slot_of("foo"));
  EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  EXPECT_NE(slot_of("foo{}{bar}"), slot_of("bar")) << "an empty tag is none";
  EXPECT_NE(slot_of("foo{bar"), slot_of("bar"));
}

TEST(SlotSet, ReadsAndWritesRanges) {
  EXPECT_EQ(SlotSet::parse("0-2 5 7-8")->str(), "0-2 5 7-8");
  EXPECT_EQ(SlotSet::parse("3,1 2")->str(), "1-3");
  EXPECT_EQ(SlotSet::parse("")->size(), 0U);
  EXPECT_EQ(SlotSet::all().str(), "0-16383");
  EXPECT_THAT(SlotSet::of({4, 5, 9}).ranges(), ElementsAre(Pair(4, 5), Pair(9, 9)));
  for (const auto* bad : {"16384", "-1", "a", "1-", "5-3", "1-2-3", "[1->-abc]"})
    EXPECT_FALSE(SlotSet::parse(bad)) << bad;
}

TEST(SlotSet, IsASet) {
  const auto a = SlotSet::range(0, 9);
  EXPECT_EQ((a - SlotSet::range(3, 5)).str(), "0-2 6-9");
  EXPECT_EQ((a & SlotSet::range(8, 20)).str(), "8-9");
  EXPECT_EQ((a | SlotSet::of({12})).str(), "0-9 12");
  EXPECT_EQ(a.first(3).str(), "0-2");
  EXPECT_EQ(a.first(99), a);
  EXPECT_THAT(a.first(2).slots(), ElementsAre(0, 1));
}

}  // namespace
}  // namespace redis
