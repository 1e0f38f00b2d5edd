#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/plane/streams/remote_command.h"

namespace kopper::plane {

// The first of what the client offers that commands can be run by, "" when it offers nothing; nothing when none is
// known.
std::optional<std::string> command_protocol(const std::vector<std::string>& offered);

// A command over a WebSocket: the first byte of a message names its stream. v5.channel.k8s.io can also end one.
std::unique_ptr<RemoteSession> websocket_session(std::unique_ptr<http::WebSocket> socket, CommandOptions options);

}  // namespace kopper::plane
