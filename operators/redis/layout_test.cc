#include "layout.h"

#include <algorithm>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// One letter a pod: its host. Zones are set where they matter.
std::vector<Seat> seats_on(std::string_view hosts) {
  std::vector<Seat> out;
  for (const char host : hosts) out.push_back({.ordinal = static_cast<int>(out.size()), .host = std::string(1, host)});
  return out;
}

// Puts what was decided into the seats.
void settle(std::vector<Seat>& seats, const std::map<int, int>& layout) {
  for (auto& seat : seats) {
    const auto master = layout.at(seat.ordinal);
    seat.owns = master == seat.ordinal;
    seat.follows = seat.owns ? -1 : master;
  }
}

std::set<int> masters_of(const std::map<int, int>& layout) {
  std::set<int> out;
  for (const auto& [pod, master] : layout) out.insert(master);
  return out;
}

int on_one_host(const std::vector<Seat>& seats, const std::map<int, int>& layout) {
  int out = 0;
  for (const auto& [pod, master] : layout) {
    out += pod != master && seats[static_cast<std::size_t>(pod)].host == seats[static_cast<std::size_t>(master)].host;
  }
  return out;
}

int most_masters_on_a_host(const std::vector<Seat>& seats, const std::map<int, int>& layout) {
  std::map<std::string, int> count;
  for (const auto master : masters_of(layout)) ++count[seats[static_cast<std::size_t>(master)].host];
  int most = 0;
  for (const auto& [host, number] : count) most = std::max(most, number);
  return most;
}

std::map<int, int> replicas_each(const std::map<int, int>& layout) {
  std::map<int, int> out;
  for (const auto& [pod, master] : layout) out[master] += pod != master ? 1 : 0;
  return out;
}

TEST(LayOut, SixPodsOnSixHosts) {
  EXPECT_THAT(lay_out(seats_on("abcdef"), 3, 1),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2), Pair(3, 0), Pair(4, 1), Pair(5, 2)));
}

TEST(LayOut, SixPodsOnThreeHosts) {
  const auto seats = seats_on("aabbcc");
  const auto layout = lay_out(seats, 3, 1);
  EXPECT_THAT(masters_of(layout), ElementsAre(0, 2, 4));
  EXPECT_EQ(on_one_host(seats, layout), 0);
}

TEST(LayOut, NoHostHasHalfOfTheMasters) {
  const auto seats = seats_on("aaaabbcc");  // as many on a as there are masters
  const auto layout = lay_out(seats, 4, 1);
  EXPECT_EQ(most_masters_on_a_host(seats, layout), 2) << "three hosts, four masters";
  EXPECT_EQ(on_one_host(seats, layout), 0);
  const auto ten = seats_on("aaaaabbbcc");
  EXPECT_EQ(most_masters_on_a_host(ten, lay_out(ten, 5, 1)), 2);
  EXPECT_EQ(on_one_host(ten, lay_out(ten, 5, 1)), 0);
}

TEST(LayOut, ZonesCountAfterHosts) {
  auto seats = seats_on("abcdef");
  const std::string zones = "xxxyyz";
  for (std::size_t i = 0; i < seats.size(); ++i) seats[i].zone = zones[i];
  const auto layout = lay_out(seats, 3, 1);
  EXPECT_THAT(masters_of(layout), ElementsAre(0, 3, 5)) << "one in each zone";
  for (const auto& [pod, master] : layout) {
    if (pod == master) continue;
    EXPECT_NE(seats[static_cast<std::size_t>(pod)].zone, seats[static_cast<std::size_t>(master)].zone);
  }
}

TEST(LayOut, OneHostIsBetterThanNone) {
  const auto layout = lay_out(seats_on("aaaaaa"), 3, 1);
  EXPECT_THAT(replicas_each(layout), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
  auto unknown = seats_on("aaaaaa");
  for (auto& seat : unknown) seat.host = "";
  EXPECT_THAT(replicas_each(lay_out(unknown, 3, 1)), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
}

TEST(LayOut, SeveralReplicasAreOnSeveralHosts) {
  const auto seats = seats_on("abcabcabc");
  const auto layout = lay_out(seats, 3, 2);
  EXPECT_EQ(on_one_host(seats, layout), 0);
  std::map<int, std::set<std::string>> hosts;
  for (const auto& [pod, master] : layout) hosts[master].insert(seats[static_cast<std::size_t>(pod)].host);
  for (const auto& [master, all] : hosts) EXPECT_EQ(all.size(), 3U);
}

TEST(LayOut, EachShardOutlivesItsHostWhenNotAllReplicasCanBeElsewhere) {
  const auto seats = seats_on("aaaaaabbb");
  const auto layout = lay_out(seats, 3, 2);
  std::map<int, int> elsewhere;
  for (const auto& [pod, master] : layout) {
    elsewhere[master] += seats[static_cast<std::size_t>(pod)].host != seats[static_cast<std::size_t>(master)].host;
  }
  for (const auto& [master, count] : elsewhere) EXPECT_GE(count, 1) << master;
}

TEST(LayOut, ScaleUpKeepsWhatIs) {
  auto seats = seats_on("abcabc");
  const auto before = lay_out(seats, 3, 1);
  settle(seats, before);
  for (const char host : std::string("aabc")) {
    seats.push_back({.ordinal = static_cast<int>(seats.size()), .host = std::string(1, host)});
  }
  const auto after = lay_out(seats, 5, 1);
  for (const auto& [pod, master] : before) EXPECT_EQ(after.at(pod), master);
  EXPECT_EQ(masters_of(after).size(), 5U);
  EXPECT_EQ(on_one_host(seats, after), 0);
  for (const auto& [master, count] : replicas_each(after)) EXPECT_EQ(count, 1) << master;
  EXPECT_EQ(most_masters_on_a_host(seats, after), 2);

  // The replica is there before its master has slots.
  for (auto& seat : seats) {
    if (seat.ordinal >= 6 && after.at(seat.ordinal) != seat.ordinal) seat.follows = after.at(seat.ordinal);
    EXPECT_EQ(lay_out(seats, 5, 1), after) << "after pod " << seat.ordinal;
  }
}

TEST(LayOut, ScaleDownMakesHeirsOfLostMastersMasters) {
  // 8 pods, 4 shards; 6 and 7 go, of which 6 is a master that pod 2 follows, and 7 is a replica of 0.
  auto seats = seats_on("abcdef");
  seats[0].owns = seats[1].owns = seats[3].owns = true;
  seats[2].follows = 6;
  seats[4].follows = 1;
  seats[5].follows = 3;
  EXPECT_THAT(lay_out(seats, 3, 1),
              ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 0), Pair(3, 3), Pair(4, 1), Pair(5, 3)));
  seats[3].owns = false;
  seats[3].follows = 1;
  EXPECT_THAT(masters_of(lay_out(seats, 3, 1)), ElementsAre(0, 1, 2)) << "2 has the data of 6";
}

TEST(LayOut, AllOwnersStay) {
  auto seats = seats_on("abcdef");
  for (int i = 0; i < 4; ++i) seats[static_cast<std::size_t>(i)].owns = true;
  const auto layout = lay_out(seats, 3, 1);
  EXPECT_THAT(masters_of(layout), testing::SizeIs(4));
  EXPECT_THAT(layout, testing::AllOf(testing::Contains(Pair(3, 3)), testing::Contains(Pair(0, 0))));
}

TEST(LayOut, ALostReplicaIsReplaced) {
  auto seats = seats_on("abcdef");
  settle(seats, lay_out(seats, 3, 1));
  seats[4].follows = -1;
  EXPECT_EQ(lay_out(seats, 3, 1).at(4), 1);
  seats[5].follows = 1;  // moved there by Redis when 1 had none
  EXPECT_THAT(lay_out(seats, 3, 1), testing::AllOf(testing::Contains(Pair(5, 1)), testing::Contains(Pair(4, 2))));
}

TEST(LayOut, TooManyReplicasOfOneGoToWhereOneIsMissing) {
  auto seats = seats_on("abcabd");
  for (int i = 0; i < 3; ++i) seats[static_cast<std::size_t>(i)].owns = true;
  seats[3].follows = 1;
  seats[4].follows = 1;
  seats[5].follows = 0;
  const auto layout = lay_out(seats, 3, 1);
  EXPECT_THAT(replicas_each(layout), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
  EXPECT_EQ(layout.at(5), 0);
  EXPECT_EQ(layout.at(4), 2) << "of the two, the one on the host of its master goes";
}

// All ways to pair, for small clusters.
int fewest_on_one_host(const std::vector<Seat>& seats, const std::vector<int>& masters, std::vector<int> replicas) {
  int best = 1000;
  std::ranges::sort(replicas);
  do {
    int bad = 0;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const auto master = static_cast<std::size_t>(masters[i % masters.size()]);
      bad += seats[static_cast<std::size_t>(replicas[i])].host == seats[master].host ? 1 : 0;
    }
    best = std::min(best, bad);
  } while (std::ranges::next_permutation(replicas).found);
  return best;
}

TEST(LayOut, IsAsGoodAsAnyOther) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const int count = 3 + static_cast<int>(random() % 2);
    auto seats = seats_on("");
    for (int i = 0; i < 2 * count; ++i) seats.push_back({.ordinal = i, .host = fmt::format("h{}", random() % 5)});
    const auto layout = lay_out(seats, count, 1);

    // Its masters are spread as evenly as any choice, and its pairs as far apart as any pairs.
    const auto squares = [&](const std::vector<int>& masters) {
      std::map<std::string, int> on;
      for (const auto master : masters) ++on[seats[static_cast<std::size_t>(master)].host];
      int sum = 0;
      for (const auto& [host, number] : on) sum += number * number;
      return sum;
    };
    int least_squares = 1000;
    int least_bad = 1000;
    std::vector<bool> chosen(seats.size());
    std::fill_n(chosen.begin(), count, true);
    do {
      std::vector<int> masters;
      std::vector<int> rest;
      for (int i = 0; i < 2 * count; ++i) (chosen[static_cast<std::size_t>(i)] ? masters : rest).push_back(i);
      least_squares = std::min(least_squares, squares(masters));
      if (round < 20) least_bad = std::min(least_bad, fewest_on_one_host(seats, masters, rest));
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
    const auto masters = masters_of(layout);
    EXPECT_EQ(squares({masters.begin(), masters.end()}), least_squares);
    std::vector<int> rest;
    for (int i = 0; i < 2 * count; ++i) {
      if (!masters.contains(i)) rest.push_back(i);
    }
    EXPECT_EQ(on_one_host(seats, layout), fewest_on_one_host(seats, {masters.begin(), masters.end()}, rest));
    if (round < 20) {
      EXPECT_EQ(on_one_host(seats, layout), least_bad);
    }
    for (const auto& [master, number] : replicas_each(layout)) EXPECT_EQ(number, 1);
    settle(seats, layout);
    EXPECT_EQ(lay_out(seats, count, 1), layout) << "it leaves what it made";
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
  }
}

TEST(LayOut, ManyPods) {
  std::vector<Seat> seats;
  for (int i = 0; i < 180; ++i) {
    seats.push_back({.ordinal = i, .host = fmt::format("h{}", i % 20), .zone = fmt::format("z{}", i % 20 % 3)});
  }
  const auto layout = lay_out(seats, 60, 2);
  EXPECT_EQ(on_one_host(seats, layout), 0);
  EXPECT_EQ(most_masters_on_a_host(seats, layout), 3);
  for (const auto& [master, number] : replicas_each(layout)) EXPECT_EQ(number, 2);
}

TEST(Misplaced, SwapsMendPairs) {
  auto seats = seats_on("abcabc");
  for (int i = 0; i < 3; ++i) seats[static_cast<std::size_t>(i)].owns = true;
  seats[3].follows = 0;  // both on a
  seats[4].follows = 2;
  seats[5].follows = 1;
  EXPECT_THAT(misplaced(seats), ElementsAre(Swap{3, 4})) << "3 follows 2, and 4 follows 0";
  seats[4].follows = 1;
  seats[5].follows = 2;
  EXPECT_THAT(misplaced(seats), ElementsAre(Swap{3, 4})) << "mends two; the third comes next";
  seats[3].follows = 1;
  seats[4].follows = 0;
  EXPECT_THAT(misplaced(seats), ElementsAre(Swap{5, 3}));
  seats[3].follows = 2;
  seats[5].follows = 1;
  EXPECT_THAT(misplaced(seats), IsEmpty());
}

TEST(Misplaced, EndsWithTheBestPairing) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const int count = 3 + static_cast<int>(random() % 3);
    auto seats = seats_on("");
    std::vector<int> masters;
    std::vector<int> replicas;
    for (int i = 0; i < 2 * count; ++i) {
      seats.push_back({.ordinal = i, .host = fmt::format("h{}", random() % 4), .owns = i < count});
      (i < count ? masters : replicas).push_back(i);
    }
    auto order = masters;
    std::ranges::shuffle(order, random);
    std::map<int, int> layout;
    for (int i = 0; i < count; ++i) {
      layout[i] = i;
      layout[count + i] = seats[static_cast<std::size_t>(count + i)].follows = order[static_cast<std::size_t>(i)];
    }
    for (auto swaps = misplaced(seats); !swaps.empty(); swaps = misplaced(seats)) {
      const auto before = on_one_host(seats, layout);
      for (const auto& [replica, with] : swaps) {
        std::swap(layout[replica], layout[with]);
        std::swap(seats[static_cast<std::size_t>(replica)].follows, seats[static_cast<std::size_t>(with)].follows);
      }
      ASSERT_LT(on_one_host(seats, layout), before);
    }
    EXPECT_EQ(on_one_host(seats, layout), fewest_on_one_host(seats, masters, replicas));
  }
}

}  // namespace
}  // namespace redis
