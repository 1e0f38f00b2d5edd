#pragma once

#include <string>
#include <string_view>

#include "kopper/json/value.h"

namespace kopper::plane::openapi {

// Writes openapi.v2.Document, the protobuf form of a swagger document: what kubectl reads /openapi/v2 in. All of it
// that the server's own document uses.
class ProtoDocument {
 public:
  ProtoDocument(std::string_view title, std::string_view version);

  // As they stand in the JSON document.
  void add_path(std::string_view path, const json::Value& item);
  void add_definition(std::string_view name, const json::Value& schema);

  std::string bytes() &&;

 private:
  std::string head_;
  std::string paths_;
  std::string definitions_;
};

}  // namespace kopper::plane::openapi
