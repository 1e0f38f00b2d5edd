#pragma once

#include <memory>
#include <optional>

#include "kopper/http/url.h"
#include "kopper/rt/stream.h"
#include "kopper/rt/tls.h"

namespace kopper::http::detail {

// Connects to `proxy` and, when `tunnel`, asks it for a connection to `host`:`port` (CONNECT or SOCKS 5); what comes
// back then talks to that host. Without `tunnel` (http and https proxies only) it talks to the proxy itself. `tls` is
// for https proxies. Throws Error{Unavailable} naming the proxy and what it said.
Task<std::unique_ptr<rt::Stream>> dial_proxy(Url proxy, std::optional<rt::TlsContext> tls, bool tunnel,
                                             std::string host, std::uint16_t port);

// "Basic dXNlcjpwYXNz", or nothing when the URL names no user.
std::optional<std::string> basic_auth(const Url& url);

}  // namespace kopper::http::detail
