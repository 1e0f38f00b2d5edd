#pragma once

#include <memory>

#include "kopper/client/config.h"
#include "kopper/http/handler.h"

namespace kopper::client {

// The way to the API server of `config`: TLS, proxy, credentials, the path in front of every request. Certificates and
// keys that are files are read again when they change, and new connections use them. Nothing is opened before the first
// request. Throws Error{Invalid} when a certificate cannot be used. Credentials are never sent without TLS.
// Made for the current loop, and used on it only.
std::shared_ptr<http::Handler> make_transport(const Config& config);

}  // namespace kopper::client
