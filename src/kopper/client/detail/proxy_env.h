#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kopper::client::detail {

// The proxy that the environment names for `server` (a URL), or "": HTTPS_PROXY or HTTP_PROXY by the server's scheme,
// lower case too, unless NO_PROXY covers the host. NO_PROXY is a list of hosts (with their subdomains), addresses,
// networks such as 10.0.0.0/8, each with a port or without, or "*". Loopback is never proxied.
std::string proxy_from_env(std::string_view server, const std::function<std::string(const char*)>& env);

}  // namespace kopper::client::detail
