#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kopper/json/value.h"

namespace kopper::plane {

// "example.com/v1"; strategy None: only the version is rewritten.
void convert_by_name(json::Value& object, std::string_view api_version);

struct WebhookConversion {
  std::string url;  // one of these two
  std::string service_namespace;
  std::string service_name;
  std::string service_path;
  std::int64_t service_port = 443;
  std::string ca_bundle;       // base64 as written
  std::string review_version;  // "v1": the first of conversionReviewVersions that is known
};
// Of a definition with strategy Webhook; nothing when it is None.
std::optional<WebhookConversion> webhook_conversion_of(const json::Value& crd);

// The body of the request. Objects that have the version already are not to be sent.
json::Value conversion_review(std::string_view review_version, std::string_view uid, std::string_view api_version,
                              json::Array objects);

// The converted objects, one for each of `sent` and in its order, with the metadata of those but for labels and
// annotations. The error is what the server tells its client, to be put after "conversion webhook for … ".
std::expected<json::Array, std::string> converted_objects(const json::Value& answer, std::string_view uid,
                                                          std::string_view api_version, const json::Array& sent);

}  // namespace kopper::plane
