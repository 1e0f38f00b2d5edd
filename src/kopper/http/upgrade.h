#pragma once

#include <memory>
#include <string_view>

#include "kopper/http/message.h"
#include "kopper/rt/stream.h"

namespace kopper::http {

// A connection that goes on in another protocol, after 101 Switching Protocols.
struct Upgraded {
  Headers headers;                     // more of the answer's
  std::unique_ptr<rt::Stream> stream;  // what the client's bytes go to and come from
};

// Whether a request asks for an upgrade to `protocol`, "SPDY/3.1".
bool wants_upgrade(const Request& request, std::string_view protocol);

}  // namespace kopper::http
