#pragma once

#include <cstdint>
#include <optional>

#include "kopper/base/error.h"
#include "kopper/http/handler.h"
#include "kopper/http/message.h"

namespace kopper::http::detail {

// What the handler answers; an Error it throws becomes the response that fits. `handler` outlives the await.
Task<Response> respond_to(Handler& handler, Request request);

// The response that tells a client of `error`: its http_status, or what fits its code; its message as the body.
Response refusal(const Error& error);

std::optional<std::uint64_t> content_length(const Headers& headers);

// Whether a response with this status to this method has a body at all.
bool has_body(int status, std::string_view method);

}  // namespace kopper::http::detail
