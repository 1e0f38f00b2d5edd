#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/base/error.h"
#include "kopper/base/key.h"
#include "kopper/client/client.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/runtime/election_state.h"

namespace kopper::runtime {

struct ElectionOptions {
  std::string namespace_;  // of the Lease
  std::string name;
  std::string identity;  // this process's alone; empty: make_identity()
  ElectionTimes times;
  // A standby watches the lease, so that it leads as soon as the leader says goodbye. Needs list and watch on leases;
  // where these are refused it only asks every retry period.
  bool watch = true;
  // Told of each new holder that is seen, ourselves included. Must not throw.
  std::function<void(const std::string& identity)> on_leader;
  metrics::Registry* metrics = nullptr;  // leader_election_*; outlives the election
};

// Leads when no other does. One candidate of one Lease; loop-confined.
//
//   co_await election.campaign();    // until we lead; renewed in the background from here on
//   …                                // work, as long as is_leader()
//   co_await election.lost();        // stop all work at once: another may lead a moment later
// or, to end in good order:
//   …                                // stop all work
//   co_await election.release();     // the next one leads within a moment
//
// Give it a client without a limit of its own (qps): a renewal that queues behind other calls loses the lease.
class Election {
 public:
  // Throws Error{Invalid} for times that make no sense, and without a namespace or a name.
  Election(client::Client client, ElectionOptions options);
  // Stops renewing. A lease that was not released ends by itself.
  ~Election();
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  // Returns when we lead. Goes on for ever through errors, which are logged. Again after lost() or release(): a new
  // term.
  Task<> campaign();
  // To ask before each write: by the clock alone, so a process that was stopped and goes on knows at once.
  // What is between this and the write's arrival is covered by lease - renew_deadline; writes that must be safe beyond
  // it carry a resourceVersion.
  bool is_leader() const;
  // Returns when we do not lead: renewing failed until the deadline, another holds the lease, or it was released.
  Task<> lost();
  // Ends leading and says so on the server, so that nobody waits for the lease to expire. Only when the work has
  // stopped. Does its best for renew_deadline / 2, and never throws Error. Nothing when we do not lead.
  Task<> release();

  const std::string& identity() const { return state_.identity(); }
  const std::string& leader() const { return state_.holder(); }  // as last seen; empty: none
  // Counts the holders; of the present one. Two leaders never have the same.
  std::int32_t term() const { return state_.term(); }
  // Why the last try failed; empty when it did not.
  const std::string& problem() const { return problem_; }

 private:
  Task<> attempt();
  Task<> carry_out();
  Task<ElectionState::Step> read();
  Task<ElectionState::Step> write(bool create);
  Task<> keep();
  Task<> follow();
  Task<> pause();
  Task<> say_farewell();
  void failed(const Error& error);
  void announce();
  void end_leading(std::string_view why);

  // constant after construction
  const ElectionOptions options_;
  const Key key_;
  const client::Client client_;

  // this loop only
  ElectionState state_;
  std::string live_;  // the lease as the server last gave it; empty: there is none
  std::string announced_;
  std::string problem_;
  bool led_ = false;  // between campaign() and the end of leading
  rt::Event over_;
  rt::Event freed_;
  metrics::Gauge* status_ = nullptr;
  metrics::Counter* slow_ = nullptr;
  std::unique_ptr<rt::Scope> renewing_;
};

// "host_6f1c2a3e-…": unique, and tells people where it runs.
std::string make_identity();

// --leader-elect-resource-lock: all of leases, configmaps, endpoints, configmapsleases and endpointsleases mean a Lease
// here. Returns a warning for all but the first. Throws Error{Invalid} for anything else.
std::optional<std::string> check_resource_lock(std::string_view value);

}  // namespace kopper::runtime
