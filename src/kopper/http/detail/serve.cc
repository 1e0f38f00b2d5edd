#include "kopper/http/detail/serve.h"

#include <charconv>

#include "kopper/base/error.h"
#include "kopper/base/log.h"

namespace kopper::http::detail {
namespace {

int status_of(const Error& error) {
  if (error.http_status >= 400 && error.http_status <= 599) return error.http_status;
  switch (error.code) {
    case Code::Invalid: return 400;
    case Code::Unauthorized: return 401;
    case Code::Forbidden: return 403;
    case Code::NotFound: return 404;
    case Code::AlreadyExists:
    case Code::Conflict: return 409;
    case Code::Gone: return 410;
    case Code::TooMany: return 429;
    case Code::Unavailable: return 503;
    case Code::Timeout: return 504;
    case Code::Unsupported: return 501;
    case Code::Internal: return 500;
  }
  return 500;
}

}  // namespace

Response refusal(const Error& error) {
  const bool json = error.message.starts_with('{');
  return text_response(status_of(error), error.message, json ? "application/json" : "text/plain; charset=utf-8");
}

Task<Response> respond_to(Handler& handler, Request request) {
  try {
    Response response = co_await handler.handle(std::move(request));
    if (!response.body) response.body = whole({});
    co_return response;
  } catch (const Error& error) {
    co_return refusal(error);
  } catch (const std::exception& error) {
    log::error("a handler failed", {{"error", error.what()}});
  }
  co_return text_response(500, "internal error");  // what went wrong is for our log, not for the peer
}

std::optional<std::uint64_t> content_length(const Headers& headers) {
  const auto text = headers.get("content-length");
  if (!text) return std::nullopt;
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), length);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return length;
}

bool has_body(int status, std::string_view method) {
  return method != "HEAD" && status >= 200 && status != 204 && status != 304;
}

}  // namespace kopper::http::detail
