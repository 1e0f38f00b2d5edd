#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kopper/http/spdy.h"
#include "kopper/plane/streams/remote_command.h"

namespace kopper::plane {

// A command over SPDY: the client opens a stream for each direction, named by the header streamtype. Waits for those
// that `options` ask for; throws Error{Timeout|Unavailable} when they do not come. Protocols before v4.channel.k8s.io
// tell failures in words; those before v3 know no sizes.
Task<std::unique_ptr<RemoteSession>> spdy_command(std::unique_ptr<http::SpdySession> session, CommandOptions options,
                                                  std::string protocol);

}  // namespace kopper::plane
