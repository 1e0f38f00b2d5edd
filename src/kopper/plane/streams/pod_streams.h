#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/http/upgrade.h"
#include "kopper/plane/core.h"
#include "kopper/plane/pod_host.h"
#include "kopper/plane/streams/pod_target.h"
#include "kopper/plane/streams/remote_command.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {

// What reaches into pods: log, exec, attach and portforward, by whoever runs them. All throw Refusal.
class PodStreams {
 public:
  explicit PodStreams(Core& core) : core_(core) {}

  void set_host(PodHost* host) { host_ = host; }

  // `call` outlives the tasks.
  Task<http::Response> log(Call& call);
  // Of what needs an upgrade, when none is asked for.
  Task<http::Response> without_upgrade(Call& call);
  // The client's end of a session that goes on by itself: over a WebSocket, and over SPDY/3.1. The second also throws
  // Error: what a kubelet says, and not the server.
  std::unique_ptr<http::WebSocket> connect(const Call& call, const std::vector<std::string>& subprotocols);
  http::Upgraded upgrade(const Call& call);

 private:
  PodHost& host_of(const PodTarget& target) const;
  PodTarget command_target(const Call& call) const;
  std::unique_ptr<http::WebSocket> connect_command(const Call& call, const std::vector<std::string>& subprotocols);
  std::unique_ptr<http::WebSocket> connect_ports(const Call& call, const std::vector<std::string>& subprotocols);

  Core& core_;
  PodHost* host_ = nullptr;
  rt::Scope sessions_;
};

}  // namespace kopper::plane
