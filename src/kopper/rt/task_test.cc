#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::rt {
namespace {

using namespace std::chrono_literals;

Task<int> number(int n) { co_return n; }

Task<int> add(int a, int b) { co_return co_await number(a) + co_await number(b); }

TEST(Task, GivesItsValue) {
  Loop loop(ClockMode::Manual);
  EXPECT_EQ(loop.run(add(2, 3)), 5);
}

Task<int> fail(std::string why) {
  co_await yield();
  throw Error(Code::Conflict, why);
}

TEST(Task, ThrowsItsError) {
  Loop loop(ClockMode::Manual);
  EXPECT_THROW(loop.run(fail("no")), Error);
}

Task<long> sum_of_many() {
  long sum = 0;
  for (int i = 0; i < 100'000; ++i) sum += co_await number(1);
  co_return sum;
}

TEST(Task, LoopOverTasksThatEndAtOnceNeedsNoStack) {
  Loop loop(ClockMode::Manual);
  EXPECT_EQ(loop.run(sum_of_many()), 100'000);
}

Task<> note_after(Duration delay, int what, std::vector<int>* notes) {
  co_await sleep(delay);
  notes->push_back(what);
}

TEST(Timer, FireInOrderOfTime) {
  Loop loop(ClockMode::Manual);
  std::vector<int> notes;
  Scope scope;
  scope.spawn(note_after(3s, 3, &notes));
  scope.spawn(note_after(1s, 1, &notes));
  scope.spawn(note_after(2s, 2, &notes));
  loop.advance(2s);
  EXPECT_EQ(notes, (std::vector{1, 2}));
  loop.advance(1s);
  EXPECT_EQ(notes, (std::vector{1, 2, 3}));
  EXPECT_TRUE(scope.empty());
}

TEST(Timer, RealClock) {
  Loop loop;
  std::vector<int> notes;
  loop.run(note_after(1ms, 1, &notes));
  EXPECT_EQ(notes.size(), 1U);
}

TEST(Loop, SaysThatNothingCanWakeTheTask) {
  Loop loop(ClockMode::Manual);
  EXPECT_THROW(loop.run(sleep(1s)), Error);
}

Task<> sets_at_end(bool* ended, bool* cancelled) {
  struct AtEnd {
    bool* flag;
    ~AtEnd() { *flag = true; }
  } at_end{ended};
  try {
    co_await sleep(1h);
  } catch (const Cancelled&) {
    *cancelled = true;
    throw;
  }
}

TEST(Scope, CancelEndsTasks) {
  Loop loop(ClockMode::Manual);
  bool ended = false;
  bool cancelled = false;
  Scope scope;
  scope.spawn(sets_at_end(&ended, &cancelled));
  loop.poll();
  EXPECT_FALSE(ended);
  scope.cancel();
  EXPECT_FALSE(ended) << "cancel() resumes nobody";
  loop.poll();
  EXPECT_TRUE(ended && cancelled);
  EXPECT_TRUE(scope.empty());
}

TEST(Scope, DestructorDestroysSuspendedTasks) {
  Loop loop(ClockMode::Manual);
  bool ended = false;
  bool cancelled = false;
  {
    Scope scope;
    scope.spawn(sets_at_end(&ended, &cancelled));
    loop.poll();
  }
  EXPECT_TRUE(ended);
  EXPECT_FALSE(cancelled);
}

TEST(Timeout, EndsAWaitingTask) {
  Loop loop(ClockMode::Manual);
  bool ended = false;
  bool cancelled = false;
  std::optional<Code> code;
  Scope scope;
  scope.spawn([](bool* e, bool* c, std::optional<Code>* out) -> Task<> {
    try {
      co_await timeout(5s, sets_at_end(e, c));
    } catch (const Error& error) {
      *out = error.code;
    }
  }(&ended, &cancelled, &code));
  loop.advance(4s);
  EXPECT_FALSE(ended);
  loop.advance(1s);
  EXPECT_TRUE(ended && cancelled);
  EXPECT_EQ(code, Code::Timeout);
}

}  // namespace
}  // namespace kopper::rt
