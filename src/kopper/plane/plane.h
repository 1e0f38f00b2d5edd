#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/http/upgrade.h"
#include "kopper/plane/auth/auth.h"
#include "kopper/plane/core.h"
#include "kopper/plane/discovery/discovery.h"
#include "kopper/plane/discovery/openapi.h"
#include "kopper/plane/gate.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {

class Conversions;
class PodHost;
class PodStreams;

struct PlaneOptions {
  Storage* storage = nullptr;  // null: memory only. Outlives the plane
  AuthOptions auth;            // who may come in; by default everybody, as an administrator
  Gate* gate = nullptr;        // instead of that. Outlives the plane
  StateOptions state;
  bool controllers = true;                                 // garbage collection and the end of namespaces
  std::string version = "v1.37.1";                         // what /version says, with +kopper; compat.h: older ones
  std::chrono::seconds event_ttl = std::chrono::hours(1);  // since it was last written an Event lasts; 0: for ever
  std::string service_network = "10.96.0.0/16";            // where services get their addresses; the first is our own
};

// The local API server: answers what kube-apiserver would. A Handler, so that clients in the same process need no
// socket.
//
//   rt::Loop loop;
//   plane::Plane plane;
//   loop.run(plane.start());
//   http::Server server(listener, plane);   // or client::Client straight on it
class Plane final : public http::Handler {
 public:
  explicit Plane(PlaneOptions options = PlaneOptions());
  ~Plane() override;

  // Reads the storage, makes the objects every cluster has. To be awaited before the first request.
  Task<> start();

  Task<http::Response> handle(http::Request request) override;
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string> subprotocols) override;
  // The same over SPDY/3.1, for kubectl before 1.30: http::ServerOptions::upgrade.
  Task<http::Upgraded> upgrade(http::Request request);

  Core& core() { return core_; }

  // Who runs the pods, for their logs and for commands in them (pod_host.h). Null: nobody. Outlives the plane.
  void set_pod_host(PodHost* host);

  // A subresource that is answered in its own way: "pods/eviction". `core` and `call` outlive the task.
  using Verb = std::function<Task<http::Response>(Core& core, Call& call)>;
  void serve(std::string subresource, Verb verb) { special_[std::move(subresource)] = std::move(verb); }
  // The same for a path that names no resource. RBAC decides who may, by nonResourceURLs.
  void serve_path(std::string path, Verb verb) { pages_[std::move(path)] = std::move(verb); }

 private:
  struct Controllers;
  struct Webhooks;
  Task<Call> admitted(http::Request request);
  Task<http::Response> dispatch(Call& call);
  Task<http::Response> dispatch_path(Call& call);

  const PlaneOptions options_;
  std::unique_ptr<Conversions> converter_;
  Core core_;
  Auth auth_;
  Gate& gate_;
  Discovery discovery_;
  OpenApi openapi_;
  std::map<std::string, Verb, std::less<>> special_;
  std::map<std::string, Verb, std::less<>> pages_;
  std::unique_ptr<Webhooks> webhooks_;
  std::unique_ptr<Controllers> controllers_;
  std::unique_ptr<PodStreams> pod_streams_;
};

}  // namespace kopper::plane
