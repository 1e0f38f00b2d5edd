#pragma once

#include <string>
#include <string_view>

#include "kopper/plane/resource.h"

namespace kopper::plane::openapi {

// OpenAPI v3 of one group in one version, as JSON.
std::string document_v3(const Catalog::Group& group, const Catalog::Version& version, std::string_view server_version);

// OpenAPI v2 ("swagger") of everything: as JSON, and as the protobuf message openapi.v2.Document, which kubectl asks
// for.
std::string document_v2(const Catalog& catalog, std::string_view server_version);
std::string protobuf_v2(const Catalog& catalog, std::string_view server_version);

}  // namespace kopper::plane::openapi
