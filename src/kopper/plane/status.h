#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "kopper/json/value.h"
#include "kopper/plane/problems.h"

namespace kopper::plane {

// The answer to a request that is refused: thrown by whoever refuses it, written as a Status object at the edge.
class Refusal : public std::exception {
 public:
  Refusal(int code, std::string reason, std::string message);

  int code;
  std::string reason;
  std::string message;
  json::Object metadata;  // of a list's Status: continue
  json::Object details;   // name, group, kind, uid, causes, retryAfterSeconds; may be empty
  std::optional<std::chrono::seconds> retry_after;

  json::Value status() const;
  const char* what() const noexcept override { return message.c_str(); }
};

// What a request is about, as refusals name it: "pods", "deployments.apps".
struct Subject {
  std::string_view group;
  std::string_view resource;  // plural; of Invalid: the kind

  std::string str() const;
};

Refusal bad_request(std::string message);
Refusal unauthorized();
Refusal forbidden(Subject subject, std::string_view name, std::string_view why);
Refusal not_found(Subject subject, std::string_view name);
Refusal no_such_path();
Refusal already_exists(Subject subject, std::string_view name);
Refusal conflict(Subject subject, std::string_view name, std::string_view why);
Refusal invalid(std::string_view group, std::string_view kind, std::string_view name, const Problems& problems);
Refusal gone(std::string message);     // reason Gone: a watch from before what is remembered
Refusal expired(std::string message);  // reason Expired: a list or continue token from before what is remembered
Refusal method_not_allowed();
Refusal not_acceptable(std::string message);
Refusal unsupported_media_type(std::string message);
Refusal too_large(std::string message);
Refusal too_many(std::string message, std::chrono::seconds retry_after);
Refusal internal(std::string message);
// What the real server did not foresee: 500 without a reason.
Refusal failed(std::string message);

}  // namespace kopper::plane
