#include "kopper/plane/request_info.h"

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

RequestInfo request_info(const http::Request& request) {
  RequestInfo info;
  const std::size_t mark = request.target.find('?');
  auto query = http::Query::parse(mark == std::string::npos ? std::string_view()
                                                            : std::string_view(request.target).substr(mark + 1));
  if (!query) throw bad_request("the query cannot be decoded: " + query.error().str());
  info.query = std::move(*query);
  const std::string_view raw = std::string_view(request.target).substr(0, mark);
  auto split = http::split_path(raw);
  if (!split) throw bad_request("the path cannot be decoded");
  std::vector<std::string>& parts = *split;
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  for (const std::string& part : parts) info.path += "/" + part;
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
