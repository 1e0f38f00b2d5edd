#pragma once

#include <string>
#include <vector>

#include "kopper/plane/render.h"

namespace kopper::plane {

// Asks the webhook of a definition. `objects` are all of one kind, and not yet in the version asked for.
class ConversionWebhook {
 public:
  virtual ~ConversionWebhook() = default;
  virtual Task<std::vector<json::Value>> convert(json::Value definition, std::string api_version,
                                                 std::vector<json::Value> objects) = 0;
};

// Objects in the version they are wanted in: events between their two groups, custom resources as their definition
// says.
class Conversions final : public Converter {
 public:
  // `webhook`, if any, outlives this.
  void set_webhook(ConversionWebhook* webhook) { webhook_ = webhook; }

  bool needed(const Resource& resource, const Stored& object) const override;
  Task<std::vector<json::Value>> to_version(ResourceRef resource, std::vector<json::Value> objects) override;
  bool stores(const Resource& resource) const override;
  Task<json::Value> to_storage(ResourceRef resource, json::Value object) override;

 private:
  Task<std::vector<json::Value>> custom(json::Value definition, std::string api_version,
                                        std::vector<json::Value> objects);

  ConversionWebhook* webhook_ = nullptr;
};

}  // namespace kopper::plane
