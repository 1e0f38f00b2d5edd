#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kopper/api/gen/coordination_v1.h"
#include "kopper/rt/loop.h"

// Leader election by a Lease, as one candidate decides it. Pure: the clock and the server's answers are passed in.
namespace kopper::runtime {

using api::coordinationv1::Lease;
using api::coordinationv1::LeaseSpec;

struct ElectionTimes {
  rt::Duration lease = std::chrono::seconds(15);           // others wait so long after the last sign of life
  rt::Duration renew_deadline = std::chrono::seconds(10);  // a leader that could not renew for so long has lost
  rt::Duration retry_period = std::chrono::seconds(2);     // between two tries; a standby's are spread by kJitter

  static constexpr double kJitter = 1.2;
  // Throws Error{Invalid} unless lease > renew_deadline > 1.2 × retry_period, and lease is at least a second.
  void validate() const;
};

// An attempt to take or keep the lease is begun by begin(); each Step that is returned is carried out, and what came of
// it is told, until the step is Wait:
//   Read              saw() or saw_nothing()
//   Create, Replace   with claim(): wrote(), or refused() when somebody else wrote first
// A step that fails ends the attempt: failed(). Two candidates never lead at the same time, by their own clocks, as
// long as these run at the same speed within lease / renew_deadline: a leader counts from before it sent its last
// renewal, the others from when they saw it. Times written in a lease come from other machines and are never compared
// with ours.
class ElectionState {
 public:
  enum class Step : std::uint8_t { Wait, Read, Create, Replace };

  // `identity` is this candidate's alone, not empty.
  ElectionState(std::string identity, ElectionTimes times);

  Step begin(rt::TimePoint now);
  // The lease as the server has it, also when a watch tells of it between attempts.
  Step saw(const Lease& lease, rt::TimePoint now);
  // There is none. That alone frees nothing: who held it may not know yet.
  Step saw_nothing(rt::TimePoint now);
  // Our claim, sent at `sent`, is what the server has.
  Step wrote(const Lease& lease, rt::TimePoint sent, rt::TimePoint now);
  Step refused();
  // No answer, or an error: what the server has is not known, so the next attempt reads.
  void failed() { fast_ = false; }
  // Gives up: not the leader from now on.
  void resign() { leading_ = false; }

  // What to write; `wall` is for people to read. And what a leader writes to let the next one in at once.
  LeaseSpec claim(api::MicroTime wall) const;
  LeaseSpec farewell(api::MicroTime wall) const;

  // Once false, it stays false until a new claim is accepted. True means that nobody else leads before deadline().
  bool leading(rt::TimePoint now) const { return leading_ && now < deadline_; }
  rt::TimePoint deadline() const { return deadline_; }
  // When the present holder's lease ends unless it is renewed; nothing when it may be claimed whatever the time.
  std::optional<rt::TimePoint> expiry() const;

  const std::string& identity() const { return identity_; }
  const std::string& holder() const { return seen_.holderIdentity; }  // as last seen; empty: none
  std::int32_t term() const { return seen_.leaseTransitions.value_or(0); }
  bool ours() const { return holder() == identity_; }
  const ElectionTimes& times() const { return times_; }

 private:
  void observe(const LeaseSpec& spec, rt::TimePoint now);
  bool may_claim(rt::TimePoint now) const;

  std::string identity_;
  ElectionTimes times_;
  LeaseSpec seen_;
  rt::TimePoint seen_at_;  // when seen_ last changed
  rt::TimePoint deadline_;
  bool leading_ = false;
  bool fast_ = false;   // the server's lease was ours when we last heard of it: write without reading
  bool blind_ = false;  // the write under way is such a one
};

}  // namespace kopper::runtime
