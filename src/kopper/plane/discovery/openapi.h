#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kopper/http/message.h"
#include "kopper/plane/call.h"
#include "kopper/plane/resource.h"

namespace kopper::plane {

// /openapi/v2 and /openapi/v3: the schemas of all that is served, for kubectl explain, apply, diff and validation, and
// for generators. Built-in kinds have no prose; custom resources have what their definition says.
// Documents are large and asked for rarely: they are made anew each time, and only their hashes are kept.
class OpenApi {
 public:
  // `catalog` outlives this. `version`: of the server, "v1.37.1".
  OpenApi(const Catalog& catalog, std::string version) : catalog_(catalog), version_(std::move(version)) {}

  // Nothing when the path is not below /openapi/.
  std::optional<http::Response> answer(const Call& call);

 private:
  std::string hash_of(const std::string& root);  // of the v3 document of "/apis/apps/v1"
  http::Response index();
  http::Response one(const Call& call, std::string_view root);
  http::Response swagger(const Call& call) const;

  const Catalog& catalog_;
  const std::string version_;
  std::uint64_t generation_ = 0;
  std::map<std::string, std::string> hashes_;  // of `generation_`
};

}  // namespace kopper::plane
