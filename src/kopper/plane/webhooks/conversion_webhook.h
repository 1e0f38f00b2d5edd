#pragma once

#include "kopper/plane/conversions.h"
#include "kopper/plane/webhooks/webhook_caller.h"

namespace kopper::plane {

// Asks the webhook that a definition names; a refusal reads `conversion webhook for example.com/v1, Kind=Toy failed:
// …`.
class ConversionHooks final : public ConversionWebhook {
 public:
  // Both outlive this.
  ConversionHooks(Core& core, WebhookCaller& caller) : core_(core), caller_(caller) {}

  Task<std::vector<json::Value>> convert(json::Value definition, std::string api_version,
                                         std::vector<json::Value> objects) override;

 private:
  Core& core_;
  WebhookCaller& caller_;
};

}  // namespace kopper::plane
