#include <algorithm>

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

TEST(Timer, ARealClockCanBePutForward) {
  Loop loop;
  std::vector<int> notes;
  Scope scope;
  scope.spawn(note_after(1000h, 1, &notes));
  loop.poll();
  const WallTime before = loop.wall_now();
  loop.advance(1000h);
  loop.run(scope.join());
  EXPECT_EQ(notes.size(), 1U);
  EXPECT_GE(loop.wall_now() - before, 1000h);
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

Task<> until_cancelled(int* cancelled) {
  try {
    co_await sleep(1h);
  } catch (const Cancelled&) {
    ++*cancelled;
    throw;
  }
}

Task<> fail_after(Duration delay, Code code) {
  co_await sleep(delay);
  throw Error(code, "failed");
}

Task<> code_of(Task<> task, std::optional<Code>* code) {
  try {
    co_await task;
  } catch (const Error& error) {
    *code = error.code;
  }
}

TEST(Scope, FirstErrorCancelsTheSiblingsAndIsThrownByJoin) {
  Loop loop(ClockMode::Manual);
  int cancelled = 0;
  std::optional<Code> code;
  Scope scope;
  Scope outer;
  scope.spawn(until_cancelled(&cancelled));
  scope.spawn(fail_after(1s, Code::Conflict));
  scope.spawn(fail_after(2s, Code::Gone));
  outer.spawn(code_of(scope.join(), &code));
  loop.advance(1s);
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(code, Code::Conflict);
  EXPECT_TRUE(scope.empty());
  EXPECT_TRUE(scope.cancelled());
  loop.run(scope.join());  // the error was thrown once
}

TEST(Scope, TaskSpawnedAfterCancelEndsAtItsFirstAwait) {
  Loop loop(ClockMode::Manual);
  int cancelled = 0;
  Scope scope;
  scope.cancel();
  scope.spawn(until_cancelled(&cancelled));
  loop.poll();
  EXPECT_EQ(cancelled, 1);
  EXPECT_TRUE(scope.empty());
}

TEST(Scope, SpawnedTaskThatNeverRanIsDestroyed) {
  Loop loop(ClockMode::Manual);
  auto token = std::make_shared<int>(0);
  {
    Scope scope;
    scope.spawn([](std::shared_ptr<int>) -> Task<> { co_return; }(token));
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

Task<> clean_up_slowly(bool* cleaned) {
  bool cancelled = false;
  try {
    co_await sleep(1h);
  } catch (const Cancelled&) {
    cancelled = true;
  }
  if (cancelled) co_await shield(sleep(3s));
  *cleaned = true;
}

Task<> run_inside_scope(bool* cleaned) {
  Scope scope;
  scope.spawn(clean_up_slowly(cleaned));
  co_await scope.join();
}

TEST(Scope, CancelledJoinCancelsAndWaitsForTheTasks) {
  Loop loop(ClockMode::Manual);
  bool cleaned = false;
  Scope outer;
  outer.spawn(run_inside_scope(&cleaned));
  loop.poll();
  outer.cancel();
  loop.poll();
  EXPECT_EQ(outer.size(), 1U) << "the clean-up is shielded";
  loop.advance(3s);
  EXPECT_TRUE(cleaned);
  EXPECT_TRUE(outer.empty());
}

TEST(Scope, TaskMaySpawnSiblings) {
  Loop loop(ClockMode::Manual);
  std::vector<int> notes;
  Scope scope;
  scope.spawn([](Scope* s, std::vector<int>* n) -> Task<> {
    s->spawn(note_after(1s, 1, n));
    s->spawn(note_after(2s, 2, n));
    co_return;
  }(&scope, &notes));
  loop.advance(2s);
  EXPECT_EQ(notes, (std::vector{1, 2}));
}

Task<int> value_after(Duration delay, int value) {
  co_await sleep(delay);
  co_return value;
}

Task<> into(Task<int> task, std::optional<int>* value) { *value = co_await task; }

TEST(Timeout, GivesTheValueInTime) {
  Loop loop(ClockMode::Manual);
  std::optional<int> value;
  Scope scope;
  scope.spawn(into(timeout(5s, value_after(4s, 7)), &value));
  loop.advance(4s);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(loop.next_timer(), TimePoint::max()) << "nothing is left armed";
}

TEST(Timeout, EndsAWaitingTask) {
  Loop loop(ClockMode::Manual);
  int cancelled = 0;
  std::optional<Code> code;
  Scope scope;
  scope.spawn(code_of(timeout(5s, until_cancelled(&cancelled)), &code));
  loop.advance(4s);
  EXPECT_EQ(cancelled, 0);
  loop.advance(1s);
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(code, Code::Timeout);
}

TEST(Timeout, InnerOneIsNotTakenForTheOuter) {
  Loop loop(ClockMode::Manual);
  int cancelled = 0;
  std::optional<Code> inner;
  std::optional<Code> outer;
  Scope scope;
  scope.spawn(code_of(timeout(5s, code_of(timeout(2s, until_cancelled(&cancelled)), &inner)), &outer));
  loop.advance(10s);
  EXPECT_EQ(inner, Code::Timeout);
  EXPECT_FALSE(outer);
}

TEST(Timeout, OuterOneGoesThroughTheInner) {
  Loop loop(ClockMode::Manual);
  int cancelled = 0;
  std::optional<Code> inner;
  std::optional<Code> outer;
  Scope scope;
  scope.spawn(code_of(timeout(2s, code_of(timeout(5s, until_cancelled(&cancelled)), &inner)), &outer));
  loop.advance(10s);
  EXPECT_FALSE(inner);
  EXPECT_EQ(outer, Code::Timeout);
}

TEST(Timeout, CancellationOfTheCallerIsNoTimeout) {
  Loop loop(ClockMode::Manual);
  int cancelled = 0;
  std::optional<Code> code;
  Scope scope;
  scope.spawn(code_of(timeout(5s, until_cancelled(&cancelled)), &code));
  loop.poll();
  scope.cancel();
  loop.advance(10s);
  EXPECT_EQ(cancelled, 1);
  EXPECT_FALSE(code);
  EXPECT_TRUE(scope.empty());
}

TEST(Shield, EndsThoughTheCallerIsCancelled) {
  Loop loop(ClockMode::Manual);
  std::optional<int> value;
  Scope scope;
  scope.spawn(into(shield(value_after(2s, 7)), &value));
  loop.poll();
  scope.cancel();
  loop.advance(1s);
  EXPECT_FALSE(value);
  loop.advance(1s);
  EXPECT_EQ(value, 7);
}

Task<int> sum_all(std::vector<Task<int>> tasks) {
  int sum = 0;
  for (const int value : co_await all(std::move(tasks))) sum = sum * 10 + value;
  co_return sum;
}

TEST(All, RunsAtTheSameTimeAndKeepsTheOrder) {
  Loop loop(ClockMode::Manual);
  std::optional<int> sum;
  std::vector<Task<int>> tasks;
  tasks.push_back(value_after(3s, 1));
  tasks.push_back(value_after(1s, 2));
  tasks.push_back(value_after(2s, 3));
  Scope scope;
  scope.spawn(into(sum_all(std::move(tasks)), &sum));
  loop.advance(3s);
  EXPECT_EQ(sum, 123);
}

TEST(All, FirstErrorCancelsTheRest) {
  Loop loop(ClockMode::Manual);
  int cancelled = 0;
  std::optional<Code> code;
  std::vector<Task<>> tasks;
  tasks.push_back(until_cancelled(&cancelled));
  tasks.push_back(fail_after(1s, Code::Gone));
  Scope scope;
  scope.spawn(code_of(all(std::move(tasks)), &code));
  loop.advance(1s);
  EXPECT_EQ(code, Code::Gone);
  EXPECT_EQ(cancelled, 1);
}

TEST(Race, FirstToEndWins) {
  Loop loop(ClockMode::Manual);
  std::optional<int> value;
  std::vector<Task<int>> tasks;
  tasks.push_back(value_after(3s, 1));
  tasks.push_back(value_after(1s, 2));
  Scope scope;
  scope.spawn(into(race(std::move(tasks)), &value));
  loop.advance(1s);
  EXPECT_EQ(value, 2);
  EXPECT_EQ(loop.next_timer(), TimePoint::max());
}

class Countdown final : public Timer {
 public:
  explicit Countdown(int* count) : count_(count) { arm_in(1s); }

 private:
  void on_timer() override {
    if (--*count_ > 0) arm_in(1s);
  }
  int* count_;
};

TEST(Timer, MayArmItselfAgain) {
  Loop loop(ClockMode::Manual);
  int count = 3;
  const Countdown countdown(&count);
  loop.advance(10s);
  EXPECT_EQ(count, 0);
}

class Once final : public Timer {
 public:
  explicit Once(std::vector<TimePoint>* fired) : fired_(fired) {}

 private:
  void on_timer() override { fired_->push_back(Loop::current().now()); }
  std::vector<TimePoint>* fired_;
};

TEST(Timer, ManyArmedAndDisarmedFireInOrder) {
  Loop loop(ClockMode::Manual);
  std::vector<TimePoint> fired;
  std::vector<std::unique_ptr<Once>> timers;
  unsigned random = 1;
  const auto next = [&random] { return random = random * 1664525 + 1013904223; };
  for (int i = 0; i < 1000; ++i) {
    timers.push_back(std::make_unique<Once>(&fired));
    timers.back()->arm_in(std::chrono::milliseconds(next() % 10'000));
  }
  for (int i = 0; i < 500; ++i) timers[next() % timers.size()]->disarm();
  for (int i = 0; i < 200; ++i) timers[next() % timers.size()]->arm_in(std::chrono::milliseconds(next() % 10'000));
  const auto armed = std::count_if(timers.begin(), timers.end(), [](const auto& timer) { return timer->armed(); });
  loop.advance(10s);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(fired.size()), armed);
  EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end()));
}

TEST(Loop, ManualWallClockMovesWithTheOther) {
  Loop loop(ClockMode::Manual);
  const auto before = loop.wall_now();
  loop.advance(90min);
  EXPECT_EQ(loop.wall_now() - before, 90min);
}

TEST(Loop, RunFromInsideIsRefused) {
  Loop loop(ClockMode::Manual);
  std::optional<Code> code;
  loop.run(code_of(
      [](Loop* l) -> Task<> {
        co_await yield();
        l->run(yield());
      }(&loop),
      &code));
  EXPECT_EQ(code, Code::Internal);
}

}  // namespace
}  // namespace kopper::rt
