#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kopper/http/handler.h"
#include "kopper/http/spdy.h"
#include "kopper/plane/pod_host.h"

namespace kopper::plane {

// Nothing for what is no port.
std::optional<std::uint16_t> port_of(std::string_view text);

// portforward.k8s.io: for each connection the client opens two streams, data and error, of the same requestid. Until
// the client is gone. `host` outlives the task.
Task<> forward_spdy(std::unique_ptr<http::SpdySession> session, PodHost* host, ContainerRef pod);

// The same session tunnelled through the messages of a WebSocket.
Task<> forward_tunnel(std::unique_ptr<http::WebSocket> socket, PodHost* host, ContainerRef pod);

// v4.channel.k8s.io: one connection a port; channel 2n carries the data of the nth port, 2n+1 its error, and each
// begins with the port. `host` outlives the task.
Task<> forward_channels(std::unique_ptr<http::WebSocket> socket, std::vector<std::uint16_t> ports, PodHost* host,
                        ContainerRef pod);

}  // namespace kopper::plane
