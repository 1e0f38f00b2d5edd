#include "kopper/runtime/election_state.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"

namespace kopper::runtime {
namespace {

using std::chrono::duration;
using std::chrono::seconds;

std::int32_t whole_seconds(rt::Duration time) {
  return static_cast<std::int32_t>(std::chrono::ceil<seconds>(time).count());
}

}  // namespace

void ElectionTimes::validate() const {
  const auto text = [](rt::Duration d) { return fmt::format("{} s", duration<double>(d).count()); };
  if (lease < seconds(1) || retry_period.count() <= 0)
    throw Error(Code::Invalid, "leader election: the lease must last at least 1 s, the retry period more than 0 s");
  if (lease <= renew_deadline)
    throw Error(Code::Invalid,
                fmt::format("leader election: the lease ({}) must be longer than the renew deadline ({})", text(lease),
                            text(renew_deadline)));
  if (duration<double>(renew_deadline) <= kJitter * duration<double>(retry_period))
    throw Error(Code::Invalid, fmt::format("leader election: the renew deadline ({}) must be longer than {} times the "
                                           "retry period ({})",
                                           text(renew_deadline), kJitter, text(retry_period)));
}

ElectionState::ElectionState(std::string identity, ElectionTimes times)
    : identity_(std::move(identity)), times_(times) {
  if (identity_.empty()) throw Error(Code::Invalid, "leader election: the identity is empty");
  times_.validate();
}

ElectionState::Step ElectionState::begin(rt::TimePoint now) {
  blind_ = leading(now) && fast_;
  return blind_ ? Step::Replace : Step::Read;
}

void ElectionState::observe(const LeaseSpec& spec, rt::TimePoint now) {
  fast_ = spec.holderIdentity == identity_;
  // Our own lease in another's hands: whatever the deadline says, it is over.
  if (!fast_) leading_ = false;
  if (spec == seen_) return;
  seen_ = spec;
  seen_at_ = now;
}

ElectionState::Step ElectionState::saw(const Lease& lease, rt::TimePoint now) {
  observe(lease.spec, now);
  return may_claim(now) ? Step::Replace : Step::Wait;
}

ElectionState::Step ElectionState::saw_nothing(rt::TimePoint now) {
  fast_ = false;
  return may_claim(now) ? Step::Create : Step::Wait;
}

ElectionState::Step ElectionState::wrote(const Lease& lease, rt::TimePoint sent, rt::TimePoint now) {
  // An answer that came after the deadline does not make up for it: we were seen not to lead in between.
  const bool in_time = !leading_ || now < deadline_;
  observe(lease.spec, now);
  deadline_ = sent + times_.renew_deadline;
  leading_ = ours() && in_time && now < deadline_;
  return Step::Wait;
}

ElectionState::Step ElectionState::refused() {
  fast_ = false;
  return std::exchange(blind_, false) ? Step::Read : Step::Wait;
}

bool ElectionState::may_claim(rt::TimePoint now) const {
  const auto ends = expiry();
  return !ends || now >= *ends;
}

std::optional<rt::TimePoint> ElectionState::expiry() const {
  if (holder().empty() || ours()) return std::nullopt;
  // How long it lasts is for its holder to say.
  const auto said = seen_.leaseDurationSeconds.value_or(0);
  return seen_at_ + (said > 0 ? rt::Duration(seconds(said)) : times_.lease);
}

LeaseSpec ElectionState::claim(api::MicroTime wall) const {
  LeaseSpec spec = seen_;
  spec.leaseDurationSeconds = whole_seconds(times_.lease);
  spec.renewTime = wall;
  if (ours()) return spec;
  // The first holder ever is term 0.
  if (seen_.leaseTransitions || !holder().empty()) spec.leaseTransitions = term() + 1;
  spec.holderIdentity = identity_;
  spec.acquireTime = wall;
  if (!spec.leaseTransitions) spec.leaseTransitions = 0;
  return spec;
}

LeaseSpec ElectionState::farewell(api::MicroTime wall) const {
  LeaseSpec spec = seen_;
  spec.holderIdentity.clear();
  spec.leaseDurationSeconds = 1;
  spec.renewTime = wall;
  spec.acquireTime = wall;
  return spec;
}

}  // namespace kopper::runtime
