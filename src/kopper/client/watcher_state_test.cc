#include "kopper/client/watcher_state.h"

#include <gtest/gtest.h>

namespace kopper::client {

static void PrintTo(const WatcherStep& step, std::ostream* out) {
  *out << "emit " << (step.emit ? static_cast<int>(*step.emit) : -1) << " next " << static_cast<int>(step.next);
}

namespace {

using Phase = WatcherState::Phase;
using Command = WatcherCommand;
using Emit = StoreEventType;
using namespace std::chrono_literals;

Error failure(Code code, int status = 0) {
  Error error(code, "x");
  error.http_status = status;
  return error;
}

struct WatcherStateTest : testing::Test {
  WatcherStep feed(const WatcherInput& input) { return step(state, input, now); }
  // To Synced at version 10.
  void sync() {
    state.phase = Phase::Synced;
    state.resource_version = "10";
  }

  WatcherState state;
  std::chrono::nanoseconds now = 1h;
};

TEST_F(WatcherStateTest, WatchListThenNews) {
  EXPECT_EQ(feed(input::Start{}), (WatcherStep{Emit::Init, Command::WatchInitial}));
  EXPECT_EQ(feed(input::Changed{"3"}), (WatcherStep{Emit::InitApply, Command::Read}));
  EXPECT_EQ(feed(input::Bookmark{"9", false}), (WatcherStep{{}, Command::Read}));
  EXPECT_EQ(feed(input::Bookmark{"10", true}), (WatcherStep{Emit::InitDone, Command::Read}));
  EXPECT_EQ(state.resource_version, "10");
  EXPECT_EQ(feed(input::Changed{"11"}), (WatcherStep{Emit::Apply, Command::Read}));
  EXPECT_EQ(feed(input::Removed{"12"}), (WatcherStep{Emit::Delete, Command::Read}));
  EXPECT_EQ(feed(input::Bookmark{"20", false}), (WatcherStep{{}, Command::Read}));
  EXPECT_EQ(state.resource_version, "20");
}

TEST_F(WatcherStateTest, RefusedWatchListFallsBackToPages) {
  for (const auto& refusal :
       {failure(Code::Invalid, 422), failure(Code::Invalid, 400), failure(Code::Unavailable, 500)}) {
    state = {};
    feed(input::Start{});
    EXPECT_EQ(feed(refusal), (WatcherStep{Emit::Init, Command::List}));
    EXPECT_FALSE(state.watch_list);
  }
  EXPECT_EQ(feed(input::Item{}), (WatcherStep{Emit::InitApply, Command::Read}));
  EXPECT_EQ(feed(input::PageEnd{"more", ""}), (WatcherStep{{}, Command::List}));
  EXPECT_EQ(state.continue_token, "more");
  EXPECT_EQ(feed(input::PageEnd{"", "10"}), (WatcherStep{Emit::InitDone, Command::Watch}));
  EXPECT_EQ(state.phase, Phase::Synced);
  EXPECT_EQ(state.resource_version, "10");
}

TEST_F(WatcherStateTest, PassingFailuresDoNotForgetWatchList) {
  for (const auto& passing : {failure(Code::Unavailable), failure(Code::TooMany, 429), failure(Code::Forbidden, 403)}) {
    state = {};
    feed(input::Start{});
    EXPECT_EQ(feed(passing), (WatcherStep{Emit::Failed, Command::Wait}));
    EXPECT_TRUE(state.watch_list);
    EXPECT_EQ(feed(input::Start{}), (WatcherStep{Emit::Init, Command::WatchInitial}));
  }
}

TEST_F(WatcherStateTest, AMissingKindDoesNotForgetWatchList) {
  feed(input::Start{});
  EXPECT_EQ(feed(failure(Code::Unsupported, 404)), (WatcherStep{Emit::Failed, Command::Wait}));
  EXPECT_EQ(feed(input::Start{}), (WatcherStep{Emit::Init, Command::WatchInitial}));
}

TEST_F(WatcherStateTest, ABrokenWatchResumesWhereItWas) {
  sync();
  EXPECT_EQ(feed(failure(Code::Unavailable)), (WatcherStep{Emit::Failed, Command::Wait}));
  EXPECT_EQ(feed(input::Start{}), (WatcherStep{{}, Command::Watch}));
  EXPECT_EQ(state.resource_version, "10");
}

TEST_F(WatcherStateTest, GoneListsAgain) {
  sync();
  EXPECT_EQ(feed(failure(Code::Gone, 410)), (WatcherStep{Emit::Failed, Command::Wait}));
  EXPECT_EQ(feed(input::Start{}), (WatcherStep{Emit::Init, Command::WatchInitial}));
}

TEST_F(WatcherStateTest, AVersionOfTheFutureListsAgain) {
  sync();
  auto error = failure(Code::Timeout, 504);
  error.causes.push_back({.field = "", .reason = "ResourceVersionTooLarge", .message = ""});
  feed(error);
  EXPECT_EQ(state.phase, Phase::Empty);
}

TEST_F(WatcherStateTest, AnExpiredPageListsAgain) {
  state.watch_list = false;
  feed(input::Start{});
  feed(input::PageEnd{"more", ""});
  EXPECT_EQ(feed(failure(Code::Gone, 410)), (WatcherStep{Emit::Failed, Command::Wait}));
  EXPECT_EQ(feed(input::Start{}), (WatcherStep{Emit::Init, Command::List}));
  EXPECT_EQ(state.continue_token, "");
}

TEST_F(WatcherStateTest, AWatchThatEndsGoesOnAtOnceUnlessItWasEmpty) {
  sync();
  EXPECT_EQ(feed(input::Ended{true}), (WatcherStep{{}, Command::Watch}));
  EXPECT_EQ(feed(input::Ended{false}), (WatcherStep{{}, Command::Wait}));
  EXPECT_EQ(feed(input::Start{}), (WatcherStep{{}, Command::Watch}));
}

TEST_F(WatcherStateTest, InitialEventsThatStopBeginAnew) {
  feed(input::Start{});
  feed(input::Changed{"3"});
  EXPECT_EQ(feed(input::Ended{true}), (WatcherStep{{}, Command::Wait}));
  EXPECT_EQ(feed(input::Start{}), (WatcherStep{Emit::Init, Command::WatchInitial}));
}

TEST_F(WatcherStateTest, FailuresInARowAreCounted) {
  sync();
  feed(failure(Code::Unavailable));
  now += 1min;
  feed(failure(Code::Unavailable));
  EXPECT_EQ(state.failures, 2);
  now += 3min;
  feed(failure(Code::Unavailable));
  EXPECT_EQ(state.failures, 1);
}

TEST_F(WatcherStateTest, BackoffIsThatOfTheReflectors) {
  EXPECT_EQ(watcher_backoff().delay(1, 0), 800ms);
  EXPECT_EQ(watcher_backoff().delay(10, 0), 30s);
}

}  // namespace
}  // namespace kopper::client
