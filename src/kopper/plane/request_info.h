#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/http/message.h"
#include "kopper/http/url.h"

namespace kopper::plane {

// What a request asks for, read from its method, path and query as kube-apiserver reads them.
struct RequestInfo {
  std::string path;  // decoded, without the query
  http::Query query;
  std::string
      verb;  // get list watch create update patch delete deletecollection; for paths that name no resource: get, post …
  bool is_resource = false;
  std::string group;
  std::string version;
  std::string namespace_;
  std::string resource;  // plural
  std::string name;
  std::string subresource;
  std::vector<std::string> rest;  // what follows the subresource: proxy paths

  std::optional<std::string> text(std::string_view parameter) const;
  // "1", "true" and the like; absent is false.
  bool flag(std::string_view parameter) const;
};

// Throws Refusal (400) when path or query cannot be decoded.
RequestInfo request_info(const http::Request& request);

}  // namespace kopper::plane
