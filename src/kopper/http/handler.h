#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kopper/http/message.h"
#include "kopper/rt/task.h"

namespace kopper::http {

// One message of a WebSocket. Kubernetes' exec, attach and port-forward use binary ones, the first byte a channel.
struct WsMessage {
  bool binary = true;
  std::string data;
};

class WebSocket {
 public:
  virtual ~WebSocket() = default;
  virtual std::string_view subprotocol() const = 0;
  // The next message; nothing after a clean close. Throws Error when the connection breaks.
  virtual Task<std::optional<WsMessage>> receive() = 0;
  virtual Task<> send(WsMessage message) = 0;
  virtual Task<> close() = 0;
};

// Turns a request into a response. A server gives requests to one; a client is one: so a client may talk to a server in
// the same process with no socket between, and whatever wraps calls (auth, retry, faults) is a Handler around a Handler.
// Throws Error{Unavailable} when no answer could be had. Concurrent calls are the normal case.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Task<Response> handle(Request request) = 0;
  // Opens a WebSocket (GET with Upgrade). `subprotocols` in order of preference. Throws Error{Unsupported} unless overridden.
  virtual Task<std::unique_ptr<WebSocket>> connect(Request request, std::vector<std::string> subprotocols);
};

}  // namespace kopper::http
