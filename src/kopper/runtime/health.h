#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/client/client.h"
#include "kopper/http/handler.h"
#include "kopper/http/server.h"
#include "kopper/metrics/metrics.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/tls.h"

// What a kubelet and a Prometheus ask a running operator.
namespace kopper::runtime {

// Named checks behind /livez, /healthz (the same) and /readyz. A check is quick and only looks: "" when all is well, or
// one line that says what is not. It goes to the log; who asks from outside learns only which check failed.
//   GET /readyz            ok, or 500 and the list of checks
//   GET /readyz?verbose    the list in any case
//   GET /readyz?exclude=a  all but a
//   GET /readyz/a          only a
class HealthChecks {
 public:
  using Check = std::function<std::string()>;

  // A failing one gets the process restarted: only for what a restart mends.
  void live(std::string name, Check check) { live_[std::move(name)] = std::move(check); }
  // A failing one takes the process out of service until it is well again.
  void ready(std::string name, Check check) { ready_[std::move(name)] = std::move(check); }

  // Nothing when the path is none of ours.
  std::optional<http::Response> answer(std::string_view path, std::string_view query) const;

 private:
  using Checks = std::map<std::string, Check, std::less<>>;
  Checks live_;
  Checks ready_;
};

struct BindAddress {
  std::string host;  // empty: all addresses
  std::uint16_t port = 0;

  friend bool operator==(const BindAddress&, const BindAddress&) = default;
};
// "127.0.0.1:8081", "[::1]:8081", ":8081"; "0" and "" are nothing: do not listen. Throws Error{Invalid} naming the
// text.
std::optional<BindAddress> parse_bind_address(std::string_view text);
// All addresses: IPv6 and IPv4, or only the latter on a machine without the former.
rt::Listener listen(const BindAddress& address);

struct HealthOptions {
  std::string probe_address = "127.0.0.1:8081";    // "0": off
  std::string metrics_address = "127.0.0.1:8080";  // the same as the probes': one server for both, TLS included
  std::function<rt::TlsContext()> metrics_tls;     // none: plain HTTP. CertFiles, or self_made_tls()
  // Only who may `get` the path /metrics, as the API server of this client says (health_guard.h).
  std::optional<client::Client> metrics_guard;
  bool profiling = false;  // /debug/pprof/ beside the metrics, and guarded as they are (profile.h)
};

// Serves from construction on. Loop-confined.
class HealthServer {
 public:
  // `checks` and `metrics` outlive the server. Throws Error when an address is wrong or taken.
  HealthServer(const HealthChecks& checks, metrics::Registry& metrics, HealthOptions options = HealthOptions());
  ~HealthServer();
  HealthServer(const HealthServer&) = delete;
  HealthServer& operator=(const HealthServer&) = delete;

  Task<> stop(rt::Duration grace);

  std::uint16_t probe_port() const;    // 0: off
  std::uint16_t metrics_port() const;  // 0: off

 private:
  struct Endpoint;
  bool shared_ = false;
  std::unique_ptr<Endpoint> probes_;
  std::unique_ptr<Endpoint> metrics_;
};

// A certificate for localhost and this host, by an authority that nobody trusts: encrypts, and proves nothing. Made
// anew before it expires.
std::function<rt::TlsContext()> self_made_tls();

// The handlers that the server is made of.
std::unique_ptr<http::Handler> probe_handler(const HealthChecks& checks);     // outlives: the caller sees to it
std::unique_ptr<http::Handler> metrics_handler(metrics::Registry& registry);  // outlives: the caller sees to it

}  // namespace kopper::runtime
