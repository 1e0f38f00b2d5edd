#include "kopper/plane/status.h"

#include <fmt/format.h>

namespace kopper::plane {
namespace {

Refusal about(int code, const char* reason, std::string message, Subject subject, std::string_view name) {
  Refusal out(code, reason, std::move(message));
  if (!name.empty()) out.details["name"] = name;
  if (!subject.group.empty()) out.details["group"] = subject.group;
  if (!subject.resource.empty()) out.details["kind"] = subject.resource;
  return out;
}

}  // namespace

Refusal::Refusal(int c, std::string r, std::string m) : code(c), reason(std::move(r)), message(std::move(m)) {}

json::Value Refusal::status() const {
  json::Object out{
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", metadata}, {"status", "Failure"}, {"message", message}};
  if (!reason.empty()) out["reason"] = reason;
  json::Object more = details;
  if (retry_after) more["retryAfterSeconds"] = retry_after->count();
  // The real server makes these from the HTTP code alone when they are about no object, and then says so.
  const bool generic = code == 403 || code == 404 || code == 405 || code == 422 || message.starts_with("406: ") ||
                       message.starts_with("415: ");
  if (generic || !more.empty()) out["details"] = std::move(more);
  out["code"] = code;
  return out;
}

std::string Subject::str() const {
  return group.empty() ? std::string(resource) : fmt::format("{}.{}", resource, group);
}

Refusal bad_request(std::string message) { return {400, "BadRequest", std::move(message)}; }

Refusal unauthorized() { return {401, "Unauthorized", "Unauthorized"}; }

Refusal forbidden(Subject subject, std::string_view name, std::string_view why) {
  std::string message = name.empty() ? fmt::format("{} is forbidden: {}", subject.str(), why)
                                     : fmt::format("{} \"{}\" is forbidden: {}", subject.str(), name, why);
  if (subject.resource.empty()) message = fmt::format("forbidden: {}", why);
  return about(403, "Forbidden", std::move(message), subject, name);
}

Refusal not_found(Subject subject, std::string_view name) {
  return about(404, "NotFound", fmt::format("{} \"{}\" not found", subject.str(), name), subject, name);
}

Refusal no_such_path() {
  Refusal out(404, "NotFound", "the server could not find the requested resource");
  return out;
}

Refusal already_exists(Subject subject, std::string_view name) {
  return about(409, "AlreadyExists", fmt::format("{} \"{}\" already exists", subject.str(), name), subject, name);
}

Refusal conflict(Subject subject, std::string_view name, std::string_view why) {
  return about(409, "Conflict", fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", subject.str(), name, why),
               subject, name);
}

Refusal invalid(std::string_view group, std::string_view kind, std::string_view name, const Problems& problems) {
  const Subject subject{.group = group, .resource = kind};
  Refusal out = about(422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", subject.str(), name, problems.str()),
                      subject, name);
  json::Array causes;
  for (const Cause& cause : problems.causes())
    causes.emplace_back(json::Object{{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  if (!causes.empty()) out.details["causes"] = std::move(causes);
  return out;
}

Refusal gone(std::string message) { return {410, "Gone", std::move(message)}; }

Refusal expired(std::string message) { return {410, "Expired", std::move(message)}; }

Refusal method_not_allowed() {
  return {405, "MethodNotAllowed", "the server does not allow this method on the requested resource"};
}

Refusal not_acceptable(std::string message) { return {406, "NotAcceptable", std::move(message)}; }

Refusal unsupported_media_type(std::string message) { return {415, "UnsupportedMediaType", std::move(message)}; }

Refusal too_large(std::string message) { return {413, "RequestEntityTooLarge", std::move(message)}; }

Refusal too_many(std::string message, std::chrono::seconds retry_after) {
  Refusal out(429, "TooManyRequests", std::move(message));
  out.retry_after = retry_after;
  return out;
}

Refusal internal(std::string message) { return {500, "InternalError", std::move(message)}; }

Refusal failed(std::string message) { return {500, "", std::move(message)}; }

}  // namespace kopper::plane
