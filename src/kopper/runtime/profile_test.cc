#include "kopper/runtime/profile.h"

#include <csignal>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Task<> keep(Task<CpuProfile> making, CpuProfile* into) { *into = co_await making; }

// The clock is the test's: a signal for each sample that is wanted, and no waiting.
CpuProfile profile(rt::Loop& loop, int samples) {
  CpuProfile made;
  rt::Scope scope;
  scope.spawn(keep(profile_cpu(1s), &made));
  loop.poll();
  for (int i = 0; i < samples; ++i) std::raise(SIGPROF);
  loop.advance(1s);
  return made;
}

TEST(Profile, SamplesStacks) {
  rt::Loop loop{rt::ClockMode::Manual};
  const auto made = profile(loop, 20);
  EXPECT_GE(made.stacks.size(), 20U);
  EXPECT_EQ(made.lost, 0U);
  for (const auto& stack : made.stacks) EXPECT_FALSE(stack.empty());
  EXPECT_THAT(folded(made), testing::AnyOf(HasSubstr("raise"), HasSubstr("gsignal")));
  EXPECT_THAT(folded(made), HasSubstr("__libc_start_main"));
}

TEST(Profile, IsForPprof) {
  rt::Loop loop{rt::ClockMode::Manual};
  CpuProfile made{.period = 10ms, .stacks = {{0x10, 0x20}}};
  const auto bytes = pprof(made);
  std::vector<std::uintptr_t> words(12);
  ASSERT_GT(bytes.size(), words.size() * sizeof(words[0]));
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(words[0]));
  EXPECT_THAT(words, testing::ElementsAre(0, 3, 0, 10'000, 0, 1, 2, 0x10, 0x20, 0, 1, 0));
  EXPECT_THAT(bytes.substr(words.size() * sizeof(words[0])), HasSubstr("r-xp"));
}

TEST(Profile, OneAtATimeAndAgain) {
  rt::Loop loop{rt::ClockMode::Manual};
  {
    CpuProfile first;
    rt::Scope scope;
    scope.spawn(keep(profile_cpu(1s), &first));
    loop.poll();
    EXPECT_THROW(loop.run(profile_cpu(1s)), Error);
  }  // given up before its end
  std::raise(SIGPROF);  // late: nothing happens
  EXPECT_GE(profile(loop, 3).stacks.size(), 3U);
}

TEST(Profile, IsServed) {
  rt::Loop loop{rt::ClockMode::Manual};
  const auto handler = profile_handler();
  http::Request request;
  request.target = "/debug/pprof/heap";
  auto heap = loop.run(handler->handle(request));
  EXPECT_EQ(heap.status, 200);
  EXPECT_THAT(loop.run(http::read_all(*heap.body)), HasSubstr("heap_used_bytes "));
  request.target = "/debug/pprof/else";
  EXPECT_EQ(loop.run(handler->handle(request)).status, 404);
  request.method = "POST";
  EXPECT_EQ(loop.run(handler->handle(request)).status, 400);
}

}  // namespace
}  // namespace kopper::runtime
