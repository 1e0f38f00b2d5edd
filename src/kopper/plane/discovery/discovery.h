#pragma once

#include <optional>
#include <string>

#include "kopper/http/message.h"
#include "kopper/plane/call.h"
#include "kopper/plane/resource.h"

namespace kopper::plane {

// Tells clients what is served: /, /version, /api, /apis and below, in the older form of one document a version and in
// the aggregated one of a single document (apidiscovery.k8s.io/v2, v2beta1). Documents are made when they are asked
// for: that takes less than sending them.
class Discovery {
 public:
  // `catalog` outlives this. `version`: what /version tells, "v1.37.1".
  Discovery(const Catalog& catalog, std::string version) : catalog_(catalog), version_(std::move(version)) {}

  // Nothing when the path is none of these. Throws Refusal (405, 406).
  std::optional<http::Response> answer(const Call& call) const;

 private:
  const Catalog& catalog_;
  const std::string version_;
};

// A subresource as discovery and OpenAPI describe it.
struct Subresource {
  std::string group;  // with version: of the kind that it speaks; both empty: those of the resource
  std::string version;
  std::string kind;
  std::uint16_t verbs;  // Resource::Verb
};
Subresource describe(const Resource& resource, std::string_view subresource);

// In the order in which discovery names them.
std::vector<std::string> verb_names(std::uint16_t verbs, bool custom);

// "404 page not found", as for every path outside of the API.
http::Response no_such_page();

// An ETag: the same for the same bytes.
std::string content_hash(std::string_view bytes);

}  // namespace kopper::plane
