#include "kopper/runtime/election_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"

namespace kopper::runtime {
namespace {

using namespace std::chrono_literals;
using Step = ElectionState::Step;

rt::TimePoint at(rt::Duration since) { return rt::TimePoint(since); }

// What a holder writes whose clock is `skew` off.
Lease lease_of(std::string holder, rt::Duration at, rt::Duration skew = 0s) {
  const auto wall = rt::WallTime(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)) + at + skew;
  Lease lease;
  lease.spec.holderIdentity = std::move(holder);
  lease.spec.leaseDurationSeconds = 15;
  lease.spec.acquireTime = api::MicroTime(wall);
  lease.spec.renewTime = api::MicroTime(wall);
  lease.spec.leaseTransitions = 3;
  return lease;
}

Lease claimed(const ElectionState& state) {
  Lease lease;
  lease.spec = state.claim(api::MicroTime(rt::WallTime(1s)));
  return lease;
}

// A state that leads since `when`.
ElectionState leader(rt::Duration when) {
  ElectionState state("me", {});
  EXPECT_EQ(state.begin(at(when)), Step::Read);
  EXPECT_EQ(state.saw_nothing(at(when)), Step::Create);
  EXPECT_EQ(state.wrote(claimed(state), at(when), at(when)), Step::Wait);
  EXPECT_TRUE(state.leading(at(when)));
  return state;
}

TEST(ElectionTimes, MustLeaveRoom) {
  EXPECT_NO_THROW(ElectionTimes().validate());
  EXPECT_THROW((ElectionTimes{10s, 10s, 2s}.validate()), Error);
  EXPECT_THROW((ElectionTimes{15s, 2s, 2s}.validate()), Error);
  EXPECT_THROW((ElectionTimes{15s, 2400ms, 2s}.validate()), Error);
  EXPECT_NO_THROW((ElectionTimes{15s, 2401ms, 2s}.validate()));
  EXPECT_THROW((ElectionTimes{500ms, 300ms, 100ms}.validate()), Error);
  EXPECT_THROW((ElectionTimes{15s, 10s, 0s}.validate()), Error);
  EXPECT_THROW(ElectionState("", {}), Error);
}

TEST(ElectionState, TheFirstHolderIsTermZero) {
  auto state = leader(0s);
  EXPECT_EQ(state.term(), 0);
  EXPECT_EQ(state.holder(), "me");
  EXPECT_EQ(state.begin(at(2s)), Step::Replace) << "a renewal does not read first";
}

TEST(ElectionState, EachNewHolderIsANewTerm) {
  ElectionState state("me", {});
  state.saw(lease_of("other", 0s), at(0s));
  const auto claim = claimed(state).spec;
  EXPECT_EQ(claim.holderIdentity, "me");
  EXPECT_EQ(claim.leaseTransitions, 4);
  EXPECT_EQ(claim.leaseDurationSeconds, 15);
}

TEST(ElectionState, RenewingKeepsTheTermAndItsBeginning) {
  auto state = leader(0s);
  const auto before = claimed(state).spec;
  const auto again = state.claim(api::MicroTime(rt::WallTime(9s)));
  EXPECT_EQ(again.acquireTime, before.acquireTime);
  EXPECT_EQ(again.leaseTransitions, before.leaseTransitions);
  EXPECT_NE(again.renewTime, before.renewTime);
}

TEST(ElectionState, ALeaseThatChangesIsAlive) {
  ElectionState state("me", {});
  for (auto t = 0s; t < 100s; t += 14s) EXPECT_EQ(state.saw(lease_of("other", t), at(t)), Step::Wait);
  EXPECT_EQ(state.expiry(), at(98s + 15s));
  EXPECT_EQ(state.saw(lease_of("other", 98s), at(112s)), Step::Wait);
  EXPECT_EQ(state.saw(lease_of("other", 98s), at(113s)), Step::Replace);
}

TEST(ElectionState, TheHolderSaysHowLongItsLeaseLasts) {
  ElectionState state("me", {});
  auto lease = lease_of("other", 0s);
  lease.spec.leaseDurationSeconds = 60;
  EXPECT_EQ(state.saw(lease, at(0s)), Step::Wait);
  EXPECT_EQ(state.saw(lease, at(59s)), Step::Wait);
  EXPECT_EQ(state.saw(lease, at(60s)), Step::Replace);
  lease.spec.leaseDurationSeconds.reset();
  EXPECT_EQ(state.saw(lease, at(60s)), Step::Wait);
  EXPECT_EQ(state.saw(lease, at(75s)), Step::Replace);
}

TEST(ElectionState, AReleasedLeaseIsFreeAtOnce) {
  auto lease = lease_of("", 0s);
  ElectionState state("me", {});
  EXPECT_EQ(state.saw(lease, at(0s)), Step::Replace);
  EXPECT_EQ(claimed(state).spec.leaseTransitions, 4);

  const auto farewell = leader(0s).farewell(api::MicroTime(rt::WallTime(5s)));
  EXPECT_EQ(farewell.holderIdentity, "");
  EXPECT_EQ(farewell.leaseDurationSeconds, 1);
  EXPECT_EQ(farewell.leaseTransitions, 0);
}

TEST(ElectionState, ADeletedLeaseFreesNothing) {
  ElectionState state("me", {});
  EXPECT_EQ(state.saw(lease_of("other", 0s), at(0s)), Step::Wait);
  EXPECT_EQ(state.saw_nothing(at(14s)), Step::Wait);
  EXPECT_EQ(state.saw_nothing(at(15s)), Step::Create);
  EXPECT_EQ(claimed(state).spec.leaseTransitions, 4);

  auto us = leader(0s);  // but we make ours again
  EXPECT_EQ(us.saw_nothing(at(1s)), Step::Create);
}

TEST(ElectionState, ARefusedRenewalReadsAndARefusedClaimWaits) {
  auto state = leader(0s);
  EXPECT_EQ(state.begin(at(2s)), Step::Replace);
  EXPECT_EQ(state.refused(), Step::Read);
  EXPECT_EQ(state.saw(claimed(state), at(2s)), Step::Replace);
  EXPECT_EQ(state.refused(), Step::Wait);
  EXPECT_TRUE(state.leading(at(3s)));
  EXPECT_EQ(state.begin(at(4s)), Step::Read);
}

TEST(ElectionState, AnothersNameEndsItAtOnce) {
  auto state = leader(0s);
  EXPECT_EQ(state.saw(lease_of("other", 1s), at(1s)), Step::Wait);
  EXPECT_FALSE(state.leading(at(1s)));
}

TEST(ElectionState, TheDeadlineCountsFromTheSending) {
  auto state = leader(0s);
  state.begin(at(2s));
  state.wrote(claimed(state), at(2s), at(9s));
  EXPECT_EQ(state.deadline(), at(12s));
  EXPECT_TRUE(state.leading(at(11999ms)));
  EXPECT_FALSE(state.leading(at(12s)));
}

// The holder is stopped with a renewal under way. When it goes on it knows before anything else ran, and an answer that
// waited for it does not bring the lease back.
TEST(HardCase, 15_LeaseHolderPausedThenResumed) {
  auto state = leader(0s);
  EXPECT_EQ(state.begin(at(2s)), Step::Replace);
  EXPECT_FALSE(state.leading(at(18s)));
  state.wrote(claimed(state), at(2s), at(18s));
  EXPECT_FALSE(state.leading(at(18s)));
  EXPECT_EQ(state.begin(at(18s)), Step::Read) << "it must look who leads now";
  EXPECT_EQ(state.saw(lease_of("other", 17s), at(18s)), Step::Wait);
}

TEST(HardCase, 16_PeerClockOffByAnHour) {
  for (const auto skew : {-1h, 1h}) {
    ElectionState state("me", {});
    // Alive, though its times look long expired, or far ahead.
    for (auto t = 0s; t < 60s; t += 2s) EXPECT_EQ(state.saw(lease_of("other", t, skew), at(t)), Step::Wait);
    // Dead for 15 s of our clock: free, whatever it wrote.
    EXPECT_EQ(state.saw(lease_of("other", 58s, skew), at(72s)), Step::Wait);
    EXPECT_EQ(state.saw(lease_of("other", 58s, skew), at(73s)), Step::Replace);
  }
}

}  // namespace
}  // namespace kopper::runtime
