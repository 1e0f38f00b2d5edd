#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kopper/http/message.h"
#include "kopper/rt/task.h"

namespace kopper::http {

// One message of a WebSocket. Kubernetes' exec, attach and port-forward use binary ones, the first byte a channel.
struct WsMessage {
  bool binary = true;
  std::string data;
};

// One end of a WebSocket. At most one receive() and one send() at a time; the two may overlap.
// Destroying it without close() breaks the connection.
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  virtual std::string_view subprotocol() const = 0;  // the one agreed on, or empty
  // The next message; nothing after a clean close. Throws Error{Unavailable} when the connection breaks.
  virtual Task<std::optional<WsMessage>> receive() = 0;
  virtual Task<> send(WsMessage message) = 0;
  virtual Task<> close() = 0;
};

// Two ends that are connected to each other in memory. A sender waits while 1 MiB is under way.
std::pair<std::unique_ptr<WebSocket>, std::unique_ptr<WebSocket>> websocket_pair(std::string subprotocol);

// Turns a request into a response. A server gives requests to one; a client is one: so a client may talk to a server in
// the same process with no socket between, and whatever wraps calls (auth, retry, faults) is a Handler around a
// Handler. Throws Error{Unavailable} when no answer could be had. Concurrent calls are the normal case.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Task<Response> handle(Request request) = 0;

  // Opens a WebSocket (GET with Upgrade) and returns the caller's end of it. `subprotocols` in order of preference.
  // A handler that serves one keeps the other end of a websocket_pair(); Server carries it over the network.
  // A refusal is an Error with http_status and the answer's body as its message. Throws Error{Unsupported} unless
  // overridden.
  virtual Task<std::unique_ptr<WebSocket>> connect(Request request, std::vector<std::string> subprotocols);
};

}  // namespace kopper::http
