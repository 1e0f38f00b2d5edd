#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "kopper/http/handler.h"
#include "kopper/metrics/metrics.h"
#include "kopper/runtime/webhook.h"

namespace kopper::runtime {

// Answers what the API server asks of the webhooks: AdmissionReview (admission.k8s.io/v1 and v1beta1) at the path of
// each function, ConversionReview at /convert. An object that its type cannot hold is refused with the path of what is
// wrong, unless it is being deleted: then its finalizers must be able to go. A function that throws is a refusal with
// code 500, and a log line; its siblings go on.
class WebhookHandler final : public http::Handler {
 public:
  static constexpr std::size_t kMaxBody = std::size_t{7} << 20U;  // two objects of what etcd can store, and JSON around

  // `metrics`, if any, outlives the handler and gets the controller_runtime_webhook_* families.
  explicit WebhookHandler(Webhooks webhooks, metrics::Registry* metrics = nullptr);

  Task<http::Response> handle(http::Request request) override;

  const Webhooks& webhooks() const { return webhooks_; }

 private:
  struct Meters {
    metrics::Histogram* latency = nullptr;
    metrics::Gauge* in_flight = nullptr;
    std::map<int, metrics::Counter*> requests = {};  // by code
  };

  Task<http::Response> answer(http::Request request, std::string path);
  Task<json::Value> admit(const Hook* hook, json::Value review);
  Meters* meters(const std::string& path);

  const Webhooks webhooks_;
  metrics::Registry* metrics_;
  std::map<std::string, Meters> meters_;
};

}  // namespace kopper::runtime
