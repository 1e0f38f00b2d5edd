#include "kopper/plane/webhooks/conversion_webhook.h"

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/plane/crd/convert.h"
#include "kopper/plane/status.h"

namespace kopper::plane {
namespace {

constexpr std::chrono::seconds kTimeout{30};

}  // namespace

Task<std::vector<json::Value>> ConversionHooks::convert(json::Value definition, std::string api_version,
                                                        std::vector<json::Value> objects) {
  const std::string kind = fmt::format("{}, Kind={}", objects.front().text("apiVersion"), objects.front().text("kind"));
  const std::string uid = core_.new_uid();
  std::string version = webhook_conversion_of(definition)->review_version;
  if (version.empty()) version = "v1";
  std::string trouble;
  json::Value answer;
  try {
    WebhookTarget target = webhook_target(definition["spec"]["conversion"]["webhook"]["clientConfig"]);
    json::Value review = conversion_review(version, uid, api_version, objects);
    answer = co_await caller_.post(std::move(target), std::move(review), kTimeout);
  } catch (const Error& error) {
    trouble = fmt::format("failed: {}", error.what());
  }
  if (trouble.empty()) {
    auto converted = converted_objects(answer, uid, api_version, objects);
    if (converted) co_return std::move(*converted);
    trouble = converted.error();
  }
  throw Refusal(500, "", fmt::format("conversion webhook for {} {}", kind, trouble));
}

}  // namespace kopper::plane
