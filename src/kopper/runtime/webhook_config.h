#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kopper/api/gen/admissionregistration_v1.h"
#include "kopper/api/labels.h"
#include "kopper/json/value.h"
#include "kopper/meta/crd.h"
#include "kopper/runtime/webhook.h"

// What the API server must be told of the webhooks. Pure: made from the registered functions, so that it cannot drift.
namespace kopper::runtime {

struct WebhookConfigOptions {
  std::string name = "operator-manager";  // of both configurations

  // Where the API server finds us: a service, or when we run outside of the cluster, a URL: "https://127.0.0.1:9443".
  std::string service_name = "operator-manager-webhook";
  std::string service_namespace = "operator-system";
  std::int32_t service_port = 443;
  std::string url = {};

  // Who signed our certificate, as PEM. Empty: left to whoever else sets it.
  std::string ca_bundle = {};
  // "namespace/name" of a Certificate: cert-manager then sets the caBundle, and keeps it right.
  std::string inject_ca_from = {};

  api::Labels labels = {};
};

// A configuration of each type that there are functions for, in the order of registration.
struct WebhookConfigs {
  std::optional<api::admissionregistrationv1::MutatingWebhookConfiguration> mutating;
  std::optional<api::admissionregistrationv1::ValidatingWebhookConfiguration> validating;
};
WebhookConfigs webhook_configs(const Webhooks& webhooks, const WebhookConfigOptions& options);

// "validate.memcacheds.v1alpha1.cache.example.com", as error messages name it.
std::string webhook_name(const Hook& hook);

// For meta::crd(): the conversion of a kind with several versions.
meta::ConversionWebhook conversion_webhook(const WebhookConfigOptions& options);

// The CRDs of the kinds with a conversion, each reduced to spec.conversion (and cert-manager's annotation): to be
// server-side applied over the CRDs that are there.
std::vector<json::Value> conversion_configs(const Webhooks& webhooks, const WebhookConfigOptions& options);

}  // namespace kopper::runtime
