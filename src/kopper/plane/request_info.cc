#include "kopper/plane/request_info.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "kopper/json/utf8.h"
#include "kopper/plane/parameters.h"
#include "kopper/plane/status.h"

namespace kopper::plane {
namespace {

std::string verb_of(const std::string& method, const RequestInfo& info) {
  if (method == "POST") return "create";
  if (method == "PUT") return "update";
  if (method == "PATCH") return "patch";
  if (method == "DELETE") return info.name.empty() ? "deletecollection" : "delete";
  if (method != "GET" && method != "HEAD") return "";
  if (!info.name.empty()) return "get";
  return info.flag("watch") ? "watch" : "list";
}

// As Go reads it: a parameter that cannot be decoded is as if it were not there.
http::Query read_query(std::string_view text) {
  http::Query out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.contains(';')) continue;
    if (const auto one = http::Query::parse(part))
      for (const auto& [name, value] : *one) out.add(name, json::repaired_utf8(value));
  }
  return out;
}

}  // namespace

std::optional<std::string> RequestInfo::text(std::string_view parameter) const {
  const auto value = query.get(parameter);
  if (!value || value->empty()) return std::nullopt;
  return std::string(*value);
}

bool RequestInfo::flag(std::string_view parameter) const {
  const auto value = query.get(parameter);
  return value && *value != "false" && *value != "0";
}

std::optional<std::int64_t> number(const RequestInfo& info, std::string_view parameter) {
  const auto given = info.text(parameter);
  if (!given) return std::nullopt;
  const char* const last = given->data() + given->size();
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(given->data(), last, out);
  if (error == std::errc() && end == last) return out;
  const bool out_of_range = error == std::errc::result_out_of_range && end == last;
  throw bad_request(fmt::format("strconv.ParseInt: parsing \"{}\": {}", *given,
                                out_of_range ? "value out of range" : "invalid syntax"));
}

RequestInfo request_info(const http::Request& request) {
  RequestInfo info;
  const std::size_t mark = request.target.find('?');
  if (mark != std::string::npos) info.query = read_query(std::string_view(request.target).substr(mark + 1));
  std::string_view raw = std::string_view(request.target).substr(0, mark);
  // The whole URL, as it is sent to proxies.
  if (raw.starts_with("http://") || raw.starts_with("https://")) {
    const std::size_t slash = raw.find('/', raw.find("://") + 3);
    raw = slash == std::string_view::npos ? std::string_view("/") : raw.substr(slash);
  }
  auto split = http::split_path(raw);
  if (!split) throw bad_request("the path cannot be decoded");
  std::vector<std::string>& parts = *split;
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  for (std::string& part : parts) {
    if (!json::valid_utf8(part)) part = json::repaired_utf8(part);  // it is named in answers
    info.path += "/" + part;
  }
  if (info.path.empty()) info.path = "/";
  for (const char c : request.method) info.verb += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);

  std::size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    info.version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    info.group = parts[1];
    info.version = parts[2];
    at = 3;
  } else {
    return info;
  }
  info.is_resource = true;
  bool legacy_watch = false;  // /api/v1/watch/pods
  if (parts[at] == "watch" && parts.size() > at + 1) {
    legacy_watch = true;
    ++at;
  }
  if (parts[at] == "namespaces" && parts.size() > at + 1) {
    info.namespace_ = parts[at + 1];
    // /namespaces/x and its own subresources are about the namespace; anything else is in it.
    if (parts.size() > at + 2 && parts[at + 2] != "status" && parts[at + 2] != "finalize") at += 2;
  }
  info.resource = parts[at++];
  if (at < parts.size()) info.name = parts[at++];
  if (at < parts.size()) info.subresource = parts[at++];
  for (; at < parts.size(); ++at) info.rest.push_back(parts[at]);
  if (info.resource == "namespaces" && info.group.empty()) info.namespace_ = info.name;
  info.verb = legacy_watch ? "watch" : verb_of(request.method, info);
  return info;
}

}  // namespace kopper::plane
