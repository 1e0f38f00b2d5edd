#include "kopper/rt/channel.h"

#include <gtest/gtest.h>

#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::rt {
namespace {

using namespace std::chrono_literals;

Task<> send_numbers(Channel<int>* channel, int count, int* sent) {
  for (int i = 0; i < count; ++i) {
    co_await channel->send(i);
    ++*sent;
  }
  channel->close();
}

Task<> receive_all(Channel<int>* channel, std::vector<int>* into) {
  while (const auto item = co_await channel->receive()) into->push_back(*item);
}

TEST(Channel, HoldsBackASenderThatIsTooFast) {
  Loop loop(ClockMode::Manual);
  Channel<int> channel(2);
  Scope scope;
  int sent = 0;
  scope.spawn(send_numbers(&channel, 5, &sent));
  loop.poll();
  EXPECT_EQ(sent, 2);
  EXPECT_EQ(channel.try_receive(), 0);
  loop.poll();
  EXPECT_EQ(sent, 3);
  std::vector<int> got;
  loop.run(receive_all(&channel, &got));
  EXPECT_EQ(got, (std::vector{1, 2, 3, 4}));
}

TEST(Channel, CloseWakesWhoWaits) {
  Loop loop(ClockMode::Manual);
  Channel<int> channel(1);
  Scope scope;
  std::vector<int> got;
  scope.spawn(receive_all(&channel, &got));
  loop.poll();
  EXPECT_TRUE(channel.try_send(7));
  EXPECT_FALSE(channel.try_send(8)) << "full";
  channel.close();
  EXPECT_FALSE(channel.try_send(9)) << "closed";
  loop.poll();
  EXPECT_TRUE(scope.empty());
  EXPECT_EQ(got, std::vector{7});
}

TEST(Channel, CancelledReceiverLosesNothing) {
  Loop loop(ClockMode::Manual);
  Channel<int> channel(1);
  std::vector<int> got;
  {
    Scope scope;
    scope.spawn(receive_all(&channel, &got));
    loop.poll();
    scope.cancel();
    EXPECT_TRUE(channel.try_send(1));
    loop.poll();
    EXPECT_TRUE(scope.empty());
  }
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(channel.try_receive(), 1);
}

TEST(Channel, WakeUpOfADestroyedReceiverGoesToTheNext) {
  Loop loop(ClockMode::Manual);
  Channel<int> channel(1);
  std::vector<int> got;
  Scope second;
  {
    Scope first;
    std::vector<int> ignored;
    first.spawn(receive_all(&channel, &ignored));
    loop.poll();
    second.spawn(receive_all(&channel, &got));
    loop.poll();
    EXPECT_TRUE(channel.try_send(1));
  }
  loop.poll();
  EXPECT_EQ(got, std::vector{1});
}

Task<> wait_then_note(Event* event, int* count) {
  co_await event->wait();
  ++*count;
}

TEST(Event, WakesAll) {
  Loop loop(ClockMode::Manual);
  Event event;
  int count = 0;
  Scope scope;
  scope.spawn(wait_then_note(&event, &count));
  scope.spawn(wait_then_note(&event, &count));
  loop.poll();
  EXPECT_EQ(count, 0);
  event.set();
  event.reset();
  loop.poll();
  EXPECT_EQ(count, 2);
  scope.spawn(wait_then_note(&event, &count));
  loop.poll();
  EXPECT_EQ(count, 2) << "it was reset";
}

Task<> hold(Semaphore* semaphore, Duration how_long, std::vector<int>* order, int me) {
  const auto permit = co_await semaphore->acquire();
  order->push_back(me);
  co_await sleep(how_long);
}

TEST(Semaphore, FirstComeFirstServed) {
  Loop loop(ClockMode::Manual);
  Semaphore semaphore(2);
  std::vector<int> order;
  Scope scope;
  for (int i = 0; i < 4; ++i) {
    scope.spawn(hold(&semaphore, 1s, &order, i));
    loop.poll();
  }
  EXPECT_EQ(order, (std::vector{0, 1}));
  loop.advance(1s);
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(semaphore.free(), 0U);
  loop.advance(1s);
  EXPECT_EQ(semaphore.free(), 2U);
}

TEST(Semaphore, PermitOfADestroyedWaiterIsNotLost) {
  Loop loop(ClockMode::Manual);
  Semaphore semaphore(1);
  std::vector<int> order;
  auto held = semaphore.try_acquire();
  {
    Scope scope;
    scope.spawn(hold(&semaphore, 1s, &order, 0));
    loop.poll();
    held.reset();  // on its way to the waiter, which is destroyed before it runs
  }
  EXPECT_EQ(semaphore.free(), 1U);
  EXPECT_TRUE(order.empty());
}

TEST(Semaphore, CancelledWaiterTakesNone) {
  Loop loop(ClockMode::Manual);
  Semaphore semaphore(1);
  std::vector<int> order;
  auto held = semaphore.try_acquire();
  Scope scope;
  scope.spawn(hold(&semaphore, 1s, &order, 0));
  loop.poll();
  scope.cancel();
  held.reset();
  loop.poll();
  EXPECT_TRUE(scope.empty());
  EXPECT_EQ(semaphore.free(), 1U);
}

}  // namespace
}  // namespace kopper::rt
