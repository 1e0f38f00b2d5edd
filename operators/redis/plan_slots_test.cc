#include "plan_slots.h"

#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redis {

static void PrintTo(const Move& move, std::ostream* out) {
  *out << move.from << "->" << move.to << " " << move.slots.str();
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Holding holding(std::string id, int ordinal, std::string_view slots) {
  return {std::move(id), ordinal, SlotSet::parse(slots).value()};
}

Move move(std::string from, std::string to, std::string_view slots) {
  return {std::move(from), std::move(to), SlotSet::parse(slots).value()};
}

std::vector<Holding> three() {
  return {holding("a", 0, "0-5460"), holding("b", 1, "5461-10922"), holding("c", 2, "10923-16383")};
}

// Fails the test when a move takes what its donor has not.
void carry_out(const std::vector<Move>& moves, std::vector<Holding>& holdings) {
  for (const auto& each : moves) {
    const auto from = std::ranges::find(holdings, each.from, &Holding::id);
    const auto to = std::ranges::find(holdings, each.to, &Holding::id);
    ASSERT_TRUE(from != holdings.end() && to != holdings.end() && from != to);
    ASSERT_FALSE(each.slots.empty());
    ASSERT_EQ(each.slots - from->slots, SlotSet()) << each.from << " has not all that it gives";
    from->slots -= each.slots;
    to->slots |= each.slots;
  }
}

std::vector<std::size_t> sizes(const std::vector<Holding>& holdings) {
  std::vector<std::size_t> out;
  for (const auto& each : holdings) out.push_back(each.slots.size());
  return out;
}

TEST(Balance, ThreeToFour) {
  auto masters = three();
  masters.push_back(holding("d", 6, ""));
  const auto moves = balance(masters);
  EXPECT_THAT(moves, ElementsAre(move("a", "d", "0-1364"), move("b", "d", "5461-6826"), move("c", "d", "10923-12287")));
  carry_out(moves, masters);
  EXPECT_THAT(sizes(masters), ElementsAre(4096, 4096, 4096, 4096));
  EXPECT_THAT(balance(masters), IsEmpty());
}

TEST(Balance, ThreeToFive) {
  auto masters = three();
  masters.push_back(holding("d", 6, ""));
  masters.push_back(holding("e", 8, ""));
  const auto moves = balance(masters);
  EXPECT_EQ(moves.size(), 4U);
  carry_out(moves, masters);
  EXPECT_THAT(sizes(masters), ElementsAre(3277, 3277, 3277, 3277, 3276)) << "16384 = 5 * 3276 + 4";
}

TEST(Balance, FourToThreeDrainsAll) {
  std::vector<Holding> keep = {holding("a", 0, "1365-5460"), holding("b", 1, "6827-10922"),
                               holding("c", 2, "12288-16383")};
  const std::vector<Holding> drain = {holding("d", 6, "0-1364 5461-6826 10923-12287")};
  const auto moves = balance(keep, drain);
  EXPECT_EQ(moves.size(), 3U);
  auto all = keep;
  all.insert(all.end(), drain.begin(), drain.end());
  carry_out(moves, all);
  EXPECT_THAT(sizes(all), ElementsAre(5462, 5461, 5461, 0));
}

TEST(Balance, WhoHasMostKeepsTheRest) {
  EXPECT_THAT(balance({holding("a", 0, "0-5460"), holding("b", 1, "5461-10921"), holding("c", 2, "10922-16383")}),
              IsEmpty());
  EXPECT_THAT(balance(three()), IsEmpty());
  EXPECT_THAT(balance({}), IsEmpty());
  EXPECT_THAT(balance({holding("a", 0, "0-16383")}), IsEmpty());
}

TEST(Balance, SlotsThatNobodyHasAreNotGiven) {
  std::vector<Holding> masters = {holding("a", 0, "0-99"), holding("b", 1, "")};
  EXPECT_THAT(balance(masters), ElementsAre(move("a", "b", "0-49")));
}

TEST(Balance, HoldsForRandomLayouts) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  for (int round = 0; round < 200; ++round) {
    std::vector<Holding> all(1 + below(12));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {fmt::format("n{}", i), static_cast<int>(below(100)), {}};
    const std::size_t longest = 1 + below(3000);
    for (std::size_t slot = 0; slot < kSlots;) {
      const auto owner = below(all.size() + (round % 4 == 0 ? 1 : 0));  // at times nobody
      for (auto length = 1 + below(longest); length > 0 && slot < kSlots; --length, ++slot) {
        if (owner < all.size()) all[owner].slots.insert(slot);
      }
    }
    const auto kept = static_cast<std::ptrdiff_t>(1 + below(all.size()));
    const std::vector<Holding> keep(all.begin(), all.begin() + kept);
    const std::vector<Holding> drain(all.begin() + kept, all.end());
    const auto moves = balance(keep, drain);

    auto after = all;
    carry_out(moves, after);
    SlotSet moved;
    std::size_t count = 0;
    std::size_t total = 0;
    std::size_t least = 0;  // what has to move at least
    for (const auto& each : moves) {
      moved |= each.slots;
      count += each.slots.size();
    }
    EXPECT_EQ(moved.size(), count) << "a slot moves once";
    for (const auto& each : all) total += each.slots.size();
    const auto share = total / keep.size();
    auto rest = total % keep.size();
    auto counts = sizes(keep);
    std::ranges::sort(counts, std::greater<>());
    for (const auto has : counts) {
      const auto target = share + (rest > 0 ? 1 : 0);
      rest -= rest > 0 ? 1 : 0;
      least += has > target ? has - target : 0;
    }
    for (const auto& each : drain) least += each.slots.size();
    EXPECT_EQ(count, least);
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (i >= keep.size()) {
        EXPECT_TRUE(after[i].slots.empty());
      } else {
        EXPECT_TRUE(after[i].slots.size() == share || after[i].slots.size() == share + 1);
      }
    }
    EXPECT_LE(moves.size(), all.size());
    EXPECT_THAT(balance({after.begin(), after.begin() + kept}, {after.begin() + kept, after.end()}), IsEmpty());
    EXPECT_EQ(balance(keep, drain), moves);
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
}

TEST(Imbalance, IsTheLargestDistance) {
  EXPECT_EQ(imbalance({}), 0);
  EXPECT_EQ(imbalance(three()), 0) << "nothing can be better";
  EXPECT_DOUBLE_EQ(imbalance({holding("a", 0, "0-8191"), holding("b", 1, "8192-16383")}), 0);
  EXPECT_DOUBLE_EQ(imbalance({holding("a", 0, "0-4095"), holding("b", 1, "4096-16383")}), 50);
  EXPECT_DOUBLE_EQ(imbalance({holding("a", 0, "0-16383"), holding("b", 1, "")}), 100);
}

TEST(Assign, GivesInProportion) {
  const std::vector<Holding> donors = {holding("b", 1, "6000-9999"), holding("a", 0, "0-5999"),
                                       holding("c", 2, "10000-11999"), holding("z", 3, "12000-16383")};
  const std::vector<Holding> receivers = {holding("d", 6, ""), holding("e", 8, "")};
  // 1000 of 6000 + 4000 + 2000: 500, 333.3 and 166.7.
  const auto moves = assign(donors, receivers, {{1000, {"c", "a", "b"}}, {7, {"z"}}});
  ASSERT_TRUE(moves) << moves.error().what();
  EXPECT_THAT(*moves, ElementsAre(move("a", "d", "0-500"), move("b", "d", "6000-6332"), move("c", "d", "10000-10165"),
                                  move("z", "e", "12000-12006")));
}

TEST(Assign, OfEqualDonorsTheLowerOrdinalGivesTheRest) {
  const std::vector<Holding> donors = {holding("b", 1, "100-199"), holding("a", 0, "0-99"), holding("c", 2, "200-299")};
  const auto moves = assign(donors, {holding("d", 6, "")}, {{11, {"c", "b", "a"}}});
  ASSERT_TRUE(moves);
  EXPECT_THAT(*moves, ElementsAre(move("a", "d", "0-4"), move("b", "d", "100-102"), move("c", "d", "200-202")));
}

TEST(Assign, TheSecondSeesWhatTheFirstTook) {
  const auto moves = assign(three(), {holding("d", 6, ""), holding("e", 8, "")}, {{1000, {"a"}}, {1000, {"a", "b"}}});
  ASSERT_TRUE(moves);
  EXPECT_THAT(*moves, ElementsAre(move("a", "d", "0-999"), move("a", "e", "1000-1448"), move("b", "e", "5461-6011")));
}

TEST(Assign, RefusesByField) {
  const std::vector<Holding> receivers = {holding("d", 6, ""), holding("e", 8, "")};
  const auto why = [&](std::vector<Assignment> assignments) {
    const auto moves = assign(three(), receivers, assignments);
    return moves ? std::string("nothing") : std::string(moves.error().what());
  };
  const Assignment good{10, {"a"}};
  EXPECT_EQ(why({good, good}), "nothing");
  EXPECT_EQ(why({good}), "updateStrategy.assignStrategies: 1 for 2 new masters");
  EXPECT_EQ(why({good, {0, {"a"}}}), "updateStrategy.assignStrategies[1].slots: must be at least 1");
  EXPECT_EQ(why({good, {1, {}}}), "updateStrategy.assignStrategies[1].fromReplicas: names no master");
  EXPECT_EQ(why({{1, {"a", "x"}}, good}),
            "updateStrategy.assignStrategies[0].fromReplicas: x is not a master of this cluster");
  EXPECT_EQ(why({good, {1, {"d"}}}),
            "updateStrategy.assignStrategies[1].fromReplicas: d is a new master and has nothing to give");
  EXPECT_EQ(why({good, {1, {"a", "a"}}}), "updateStrategy.assignStrategies[1].fromReplicas: names a twice");
  EXPECT_EQ(why({{5461, {"a"}}, good}),
            "updateStrategy.assignStrategies[0].slots: a would give 5461 of its 5461 slots");
  EXPECT_EQ(why({{5460, {"a"}}, {1, {"a"}}}),
            "updateStrategy.assignStrategies[1].slots: a would give 1 of its 1 slots");
  EXPECT_EQ(why({good, {99999, {"a", "b"}}}).substr(0, 42), "updateStrategy.assignStrategies[1].slots: ");
}

// Whatever part of a plan was carried out: the rest of it is what is left to do.
TEST(Assign, GoesOnWhereItEnded) {
  const std::vector<Assignment> assignments = {{1000, {"a", "b"}}, {2000, {"a", "b", "c"}}};
  const std::vector<Holding> receivers = {holding("d", 6, ""), holding("e", 8, "")};
  const auto whole = assign(three(), receivers, assignments);
  ASSERT_TRUE(whole);
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    auto done = *whole;
    auto left = *whole;
    const auto stopped = random() % whole->size();
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(stopped));
    done.resize(stopped + 1);
    done.back().slots = done.back().slots.first(1 + random() % (done.back().slots.size() - 1));
    left.front().slots -= done.back().slots;
    auto all = three();
    all.insert(all.end(), receivers.begin(), receivers.end());
    carry_out(done, all);
    const auto rest = assign({all.begin(), all.begin() + 3}, {all.begin() + 3, all.end()}, assignments);
    ASSERT_TRUE(rest) << rest.error().what();
    EXPECT_THAT(*rest, testing::ElementsAreArray(left));
  }
}

TEST(Assign, FillsUpAReceiverOfUnknownPast) {
  auto donors = three();
  donors.back().slots -= SlotSet::range(16000, 16383);
  const auto moves = assign(donors, {holding("d", 6, "16000-16383")}, {{400, {"a"}}});
  ASSERT_TRUE(moves);
  EXPECT_THAT(*moves, ElementsAre(move("a", "d", "0-15")));
  EXPECT_THAT(*assign(donors, {holding("d", 6, "16000-16383")}, {{384, {"a"}}}), IsEmpty());
}

}  // namespace
}  // namespace redis
