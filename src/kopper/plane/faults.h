#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/plane/plane.h"
#include "kopper/plane/request_info.h"
#include "kopper/rt/wait_list.h"

namespace kopper::plane {

// Which requests a fault is for. What is empty matches all.
struct FaultMatch {
  std::vector<std::string> verbs;  // get list watch create update patch delete deletecollection
  std::string resource;            // "deployments", "deployments.apps", "memcacheds/status"
  std::string namespace_;
  std::string name;   // as in the URL: that of a POST has none
  std::string agent;  // how the User-Agent begins
};

enum class FaultEffect : std::uint8_t {
  Pass,     // nothing but the delay; also an exception from the rules after it
  Refuse,   // a Status of `status`
  HangUp,   // the connection breaks before the server sees the request. Open watches break
  Lose,     // the connection breaks after the server did what it was asked, before it could say so
  Silence,  // a partition: neither answers nor events come through, until the rule is removed
  Expire,  // history is gone: 410 to watches, pages and exact lists that go on from an earlier moment. Open watches end
  Stale,   // gets and lists of resourceVersion=0 show what was there when the rule was added, as a slow cache would
};

// A rule. Also its form in JSON, but for `hits`, which is only read.
struct Fault {
  FaultMatch match;
  FaultEffect effect = FaultEffect::Refuse;
  std::int32_t status = 500;           // Refuse: 400 to 599
  std::string reason;                  // Refuse: instead of what kube-apiserver says with this status
  std::string message;                 // the same
  std::int32_t retryAfterSeconds = 0;  // Refuse: 0 says nothing of it
  std::int64_t delayMilliseconds = 0;  // before the effect
  std::int32_t times = 0;              // requests and open watches it is good for; 0: all. Silence: always all
  bool onlyOpen = false;               // HangUp, Expire: what is open now, and then the rule is gone
  std::int64_t hits = 0;
};

// Goes wrong on demand: a Handler before the plane, with rules. The first rule that matches a request decides.
//
//   Faults faults(plane);
//   faults.add({.match = {.verbs = {"patch"}, .resource = "deployments"}, .status = 409, .times = 2});
//   faults.add({.effect = FaultEffect::HangUp, .onlyOpen = true});   // drop all watches
//
// Loop-confined. Outlives the answers it gave.
class Faults final : public http::Handler {
 public:
  // `plane` outlives this. Over a network there is no throwing: what breaks is then the answer's body.
  explicit Faults(Plane& plane, bool over_network = false) : plane_(plane), over_network_(over_network) {}

  // Throws Error{Invalid} for a rule that makes no sense.
  void add(Fault fault);
  // What was silenced goes on.
  void clear();
  // Those that are not used up.
  std::vector<Fault> rules() const;
  std::size_t open_watches() const { return open_.size(); }

  Task<http::Response> handle(http::Request request) override;
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string> subprotocols) override;

 private:
  class WatchBody;
  // What is asked, as rules see it.
  struct Asked {
    RequestInfo info;
    std::string agent;
  };
  struct Rule {
    Fault fault;
    std::uint64_t revision = 0;  // when it was added
  };

  std::optional<Rule> take(const Asked& asked);
  bool silent(const Asked& asked) const;
  http::Response broken() const;
  http::Response expired_answer(const Asked& asked) const;
  Task<http::Response> stale_answer(http::Request request, RequestInfo info, std::uint64_t revision);

  Plane& plane_;
  const bool over_network_;
  std::list<Rule> rules_;
  std::list<WatchBody*> open_;
  rt::WaitList changed_;  // woken when a rule is removed
};

// Serves /debug/faults (POST a rule, GET all, DELETE all) and /debug/clock (POST {"forwardSeconds": n}). RBAC says who
// may: administrators. The faults outlive the plane's requests.
void serve_debug(Plane& plane, Faults& faults);

}  // namespace kopper::plane
