#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/http/message.h"
#include "kopper/json/value.h"

// What servers say besides objects: Status answers, Retry-After, warnings. Pure.
namespace kopper::client {

// The error behind an answer of 300 and more, with the server's reason, causes and message. A body that is no Status
// (a proxy's text or HTML) is quoted in short. A 404 that names no object is Unsupported: not the object is missing but
// its kind, so that nobody takes a missing CRD for a missing object.
Error error_from(int http_status, const http::Headers& headers, std::string_view body);
// The same of a decoded Status: the object of a watch's ERROR event, or what exec ends with.
Error error_from(const json::Value& status);

// The field manager that owns the field of a conflicting apply: `conflict with "kubectl" using apps/v1` → kubectl.
std::string_view manager_of(const Cause& cause);

// Retry-After in seconds. A date is not understood: API servers send none.
std::optional<std::chrono::seconds> retry_after(const http::Headers& headers);

// The texts of all `Warning: 299 - "…"` fields; other codes are a cache's and mean nothing here.
std::vector<std::string> warnings(const http::Headers& headers);

}  // namespace kopper::client
