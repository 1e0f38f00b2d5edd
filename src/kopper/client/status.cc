#include "kopper/client/status.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace kopper::client {
namespace {

constexpr std::size_t kQuotedBody = 200;

Code code_of(int http_status, std::string_view reason) {
  switch (http_status) {
    case 401: return Code::Unauthorized;
    case 403: return Code::Forbidden;
    case 404: return Code::NotFound;
    case 405:
    case 406:
    case 415:
    case 501: return Code::Unsupported;
    case 408:
    case 504: return Code::Timeout;
    case 409: return reason == "AlreadyExists" ? Code::AlreadyExists : Code::Conflict;
    case 410: return Code::Gone;
    case 429: return Code::TooMany;
    default: break;
  }
  if (http_status >= 500) return Code::Unavailable;
  return http_status >= 400 ? Code::Invalid : Code::Internal;
}

std::string_view phrase(int http_status) {
  switch (http_status) {
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 307: return "Temporary Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 407: return "Proxy Authentication Required";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Request Entity Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Entity";
    case 429: return "Too Many Requests";
    case 500: return "Internal Server Error";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "";
  }
}

// One line of readable text out of whatever a proxy sent: tags dropped, blanks folded, cut short.
std::string quote(std::string_view body) {
  std::string line;
  bool tag = false;
  for (const char c : body) {
    if (c == '<') tag = true;
    const bool blank = tag || static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
    if (c == '>') tag = false;
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
    if (line.size() >= kQuotedBody) return line + "…";
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string plain_message(int http_status, std::string_view body) {
  if (http_status == 404) return "the server does not know this resource: is its API installed, and the version right?";
  auto message = fmt::format("the server answered {} {}", http_status, phrase(http_status));
  while (message.back() == ' ') message.pop_back();
  if (const auto text = quote(body); !text.empty()) message += ": " + text;
  return message;
}

int int_of(const json::Value& value) {
  const auto* number = value.as_int();
  return number != nullptr && *number >= 0 && *number < 1'000'000 ? static_cast<int>(*number) : 0;
}

bool is_status(const json::Value& value) { return value.text("kind") == "Status" && value.text("apiVersion") == "v1"; }

}  // namespace

Error error_from(const json::Value& status) {
  const auto http_status = int_of(status["code"]);
  const auto reason = status.text("reason");
  const auto& details = status["details"];
  std::string message(status.text("message"));
  if (message.empty()) message = plain_message(http_status, reason);
  if (http_status == 401 && message == "Unauthorized") {
    message = "the server does not accept these credentials (401 Unauthorized)";
  }
  Error error(code_of(http_status, reason), std::move(message));
  error.http_status = http_status;
  error.reason = reason;
  if (const auto* causes = details["causes"].as_array(); causes != nullptr) {
    for (const auto& cause : *causes) {
      error.causes.push_back({.field = std::string(cause.text("field")),
                              .reason = std::string(cause.text("reason")),
                              .message = std::string(cause.text("message"))});
    }
  }
  if (const int seconds = int_of(details["retryAfterSeconds"]); seconds > 0)
    error.retry_after = std::chrono::seconds(seconds);
  // "the server could not find the requested resource": the path is unknown, no object is named.
  if (error.code == Code::NotFound && details.text("name").empty()) error.code = Code::Unsupported;
  return error;
}

Error error_from(int http_status, const http::Headers& headers, std::string_view body) {
  auto parsed = json::parse(body);
  const bool from_server = parsed && is_status(*parsed);
  auto error = [&] {
    if (from_server) {
      if (int_of((*parsed)["code"]) == 0) (*parsed)["code"] = http_status;
      return error_from(*parsed);
    }
    Error plain(http_status == 404 ? Code::Unsupported : code_of(http_status, {}), plain_message(http_status, body));
    plain.http_status = http_status;
    return plain;
  }();
  if (const auto seconds = retry_after(headers)) error.retry_after = *seconds;
  return error;
}

std::string_view manager_of(const Cause& cause) {
  const std::string_view text = cause.message;
  const auto open = text.find('"');
  if (open == std::string_view::npos) return {};
  const auto close = text.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view{} : text.substr(open + 1, close - open - 1);
}

std::optional<std::chrono::seconds> retry_after(const http::Headers& headers) {
  const auto value = headers.get("retry-after");
  if (!value) return std::nullopt;
  unsigned seconds = 0;
  const auto [end, problem] = std::from_chars(value->data(), value->data() + value->size(), seconds);
  if (problem != std::errc{} || end != value->data() + value->size()) return std::nullopt;
  return std::chrono::seconds(seconds);
}

std::vector<std::string> warnings(const http::Headers& headers) {
  std::vector<std::string> texts;
  for (std::string_view rest : headers.all("warning")) {
    // code SP agent SP "text" [SP "date"], and perhaps more of them after commas.
    while (!rest.empty()) {
      rest.remove_prefix(std::min(rest.find_first_not_of(", "), rest.size()));
      const bool ours = rest.starts_with("299 ");
      const auto open = rest.find('"');
      if (open == std::string_view::npos) break;
      std::string text;
      auto at = open + 1;
      for (; at < rest.size() && rest[at] != '"'; ++at) {
        if (rest[at] == '\\' && at + 1 < rest.size()) ++at;
        text += rest[at];
      }
      if (at >= rest.size()) break;
      if (ours) texts.push_back(std::move(text));
      rest.remove_prefix(at + 1);
      if (rest.starts_with(" \"")) rest.remove_prefix(std::min(rest.find('"', 2), rest.size() - 1) + 1);
    }
  }
  return texts;
}

}  // namespace kopper::client
