#include "kopper/base/stable_hash.h"

#include <gtest/gtest.h>

namespace kopper {
namespace {

// Objects in clusters carry these: another value would be a change of every one of them.
TEST(StableHash, IsThatOfFnv1a) {
  EXPECT_EQ(stable_hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(stable_hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(stable_hash("foobar"), 0x85944171f73967e8U);
}

TEST(StableHash, GoesOnWithAnEarlierOne) { EXPECT_EQ(stable_hash("bar", stable_hash("foo")), stable_hash("foobar")); }

TEST(NameLetters, FollowFromTheNumber) {
  EXPECT_EQ(name_letters(0, 3), "bbb");
  EXPECT_EQ(name_letters(kNameLetters.size() + 1, 3), "ccb");
  EXPECT_EQ(name_letters(~0ULL, 5).size(), 5U);
}

}  // namespace
}  // namespace kopper
