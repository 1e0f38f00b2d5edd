#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/stream.h"

namespace kopper::http {

struct WebSocketOptions {
  std::size_t max_message = std::size_t{16} << 20U;      // a larger one breaks the connection
  rt::Duration ping_after = std::chrono::seconds(30);    // of silence, while somebody receives
  rt::Duration ping_timeout = std::chrono::seconds(15);  // then the peer is dead
};

// Asks for an upgrade. A refusal throws an Error with http_status and the body of the answer (at most 64 KiB of it) as
// its message.
Task<std::unique_ptr<WebSocket>> websocket_connect(std::unique_ptr<rt::Stream> stream, std::string authority,
                                                   Request request, std::vector<std::string> subprotocols,
                                                   WebSocketOptions options);

// Whether a request asks for an upgrade to WebSocket, and the subprotocols it offers.
bool wants_websocket(const Request& request);
std::vector<std::string> offered_subprotocols(const Request& request);

// Accepts the upgrade that `request` asks for. `already_read` came after the request.
Task<std::unique_ptr<WebSocket>> websocket_accept(std::unique_ptr<rt::Stream> stream, std::string already_read,
                                                  Request request, std::string subprotocol, WebSocketOptions options);

// Carries messages both ways until one side closes or breaks, which then ends the other too. Both outlive the await.
Task<> websocket_bridge(WebSocket& one, WebSocket& other);

}  // namespace kopper::http
