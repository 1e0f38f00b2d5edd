#include "kopper/runtime/events_correlator.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using Fate = EventCorrelator::Fate;

struct CorrelatorTest : testing::Test {
  EventCorrelator::Verdict add(std::string note, std::string object = "web", std::string reason = "Scaled") {
    api::eventsv1::Event event;
    event.regarding.kind = "Pod";
    event.regarding.name = std::move(object);
    event.regarding.resourceVersion = std::to_string(++version);
    event.reason = std::move(reason);
    event.type = "Normal";
    event.note = std::move(note);
    return correlator.add(std::move(event), rt::TimePoint(now), rt::WallTime(now));
  }
  std::vector<EventWrite> due() { return correlator.due(rt::TimePoint(now)); }

  rt::Duration now = 1h;
  int version = 0;
  EventCorrelator correlator;
};

TEST_F(CorrelatorTest, TheFirstIsCreatedTheRestIsCounted) {
  const auto first = add("to 3");
  ASSERT_TRUE(first.write);
  EXPECT_TRUE(first.write->create);
  EXPECT_FALSE(first.write->event.series);
  EXPECT_EQ(first.write->event.eventTime.str(), "1970-01-01T01:00:00.000000Z");
  std::vector<int> counts;
  for (int i = 2; i <= 100; ++i) {
    now += 1s;
    const auto next = add("to 3");
    EXPECT_EQ(next.fate, next.write ? Fate::Write : Fate::Counted);
    if (!next.write) continue;
    EXPECT_FALSE(next.write->create);
    EXPECT_EQ(next.write->event.metadata.name, first.write->event.metadata.name);
    counts.push_back(next.write->event.series->count);
  }
  EXPECT_THAT(counts, testing::ElementsAre(2, 4, 8, 16, 32, 64));
}

TEST_F(CorrelatorTest, ASeriesEndsAfterSixMinutesOfSilence) {
  add("to 3");
  for (int i = 0; i < 2; ++i) add("to 3");
  EXPECT_TRUE(due().empty());
  now += 6min;
  const auto writes = due();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].event.series->count, 3);
  EXPECT_EQ(correlator.size(), 0U);
  EXPECT_TRUE(add("to 3").write->create) << "a new event, not a longer series";
}

TEST_F(CorrelatorTest, ASeriesThatGoesOnIsWrittenEveryHalfHour) {
  int heartbeats = 0;
  add("to 3");
  for (int minute = 0; minute < 120; ++minute) {
    now += 1min;
    for (int i = 0; i < 100; ++i) add("to 3");
    heartbeats += static_cast<int>(due().size());
  }
  EXPECT_GE(heartbeats, 2);
  EXPECT_LE(heartbeats, 4);
  EXPECT_EQ(correlator.finish()[0].event.series->count, 12'001);
}

TEST_F(CorrelatorTest, ASingleEventEndsSilently) {
  add("to 3");
  now += 6min;
  EXPECT_TRUE(due().empty());
  EXPECT_EQ(correlator.size(), 0U);
}

TEST_F(CorrelatorTest, AnObjectThatTalksTooMuchIsSpam) {
  for (int i = 0; i < 25; ++i) EXPECT_EQ(add("x", "web", "Reason" + std::to_string(i)).fate, Fate::Write);
  EXPECT_EQ(add("x", "web", "More").fate, Fate::Spam);
  EXPECT_EQ(add("x", "another").fate, Fate::Write);
  EXPECT_EQ(add("x", "web", "Reason0").fate, Fate::Counted) << "what is known still counts";
  now += 300s;
  EXPECT_EQ(add("x", "web", "More").fate, Fate::Write);
  EXPECT_EQ(add("x", "web", "EvenMore").fate, Fate::Spam);
}

TEST_F(CorrelatorTest, ManyMessagesOfOneReasonAreToldAsOne) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(add("pod " + std::to_string(i)).write->create);
  const auto combined = add("pod 10");
  EXPECT_TRUE(combined.write->create);
  EXPECT_EQ(combined.write->event.note, "(combined from similar events) pod 10");
  const auto next = add("pod 11");
  EXPECT_FALSE(next.write->create);
  EXPECT_EQ(next.write->event.series->count, 2);
  EXPECT_FALSE(add("pod 3").write->create) << "those that were told apart still are";
  now += 10min;
  EXPECT_EQ(add("pod 12").write->event.note, "pod 12");
}

TEST_F(CorrelatorTest, RemembersABoundedNumber) {
  CorrelatorOptions small;
  small.max_series = 10;
  correlator = EventCorrelator(small);
  for (int i = 0; i < 1000; ++i) {
    now += 1ms;
    add("x", "object" + std::to_string(i));
    ASSERT_LE(correlator.size(), 10U);
  }
  EXPECT_FALSE(add("x", "object999").write->create);
  EXPECT_TRUE(add("x", "object1").write->create);
}

TEST_F(CorrelatorTest, NamesAreUniqueAndValid) {
  std::set<std::string> names;
  const std::vector<std::string> objects{"web", "web.2", "system:node",        "A_B", "-", "", "a.-b", "..x",
                                         "x..", "a:.:b", std::string(253, 'a')};
  for (const auto& object : objects) {
    const auto name = add("x", object).write->event.metadata.name;
    EXPECT_LE(name.size(), 253U);
    EXPECT_THAT(name, testing::MatchesRegex("[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"));
    EXPECT_TRUE(names.insert(name).second);
  }
}

}  // namespace
}  // namespace kopper::runtime
