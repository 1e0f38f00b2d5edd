#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/http/message.h"
#include "kopper/json/value.h"
#include "kopper/plane/request_info.h"
#include "kopper/plane/resource.h"

namespace kopper::plane {

// Who asks.
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;

  bool in(std::string_view group) const;
};

// One request on its way through the server. Lives as long as its answer is being made.
struct Call {
  RequestInfo info;
  User user;
  http::Request request;
  ResourceRef resource;               // null when the path names none
  std::vector<std::string> warnings;  // become Warning headers

  std::string_view header(std::string_view name) const;
  // fieldManager, else the program's name in User-Agent.
  std::string manager() const;
  bool dry_run() const { return info.text("dryRun").has_value(); }
  enum class FieldValidation : std::uint8_t { Ignore, Warn, Strict };
  FieldValidation field_validation() const;
};

}  // namespace kopper::plane
