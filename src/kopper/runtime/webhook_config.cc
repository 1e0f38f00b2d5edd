#include "kopper/runtime/webhook_config.h"

#include <array>

#include <fmt/format.h>

#include "kopper/meta/base64.h"

namespace kopper::runtime {

namespace {

using api::admissionregistrationv1::MutatingWebhook;
using api::admissionregistrationv1::MutatingWebhookConfiguration;
using api::admissionregistrationv1::RuleWithOperations;
using api::admissionregistrationv1::ServiceReference;
using api::admissionregistrationv1::ValidatingWebhook;
using api::admissionregistrationv1::ValidatingWebhookConfiguration;
using api::admissionregistrationv1::WebhookClientConfig;

constexpr std::string_view kInjectFrom = "cert-manager.io/inject-ca-from";
constexpr std::string_view kConvertPath = "/convert";

WebhookClientConfig client_config(const WebhookConfigOptions& options, const std::string& path) {
  WebhookClientConfig config;
  if (!options.url.empty()) {
    config.url = options.url + path;
  } else {
    config.service = ServiceReference{.namespace_ = options.service_namespace,
                                      .name = options.service_name,
                                      .path = path,
                                      .port = options.service_port};
  }
  config.caBundle.data = options.ca_bundle;
  return config;
}

RuleWithOperations rule_of(const Hook& hook) {
  RuleWithOperations rule;
  for (const auto operation : hook.options.operations) rule.operations.emplace_back(to_string(operation));
  rule.apiGroups = {std::string(hook.kind->group)};
  rule.apiVersions = {std::string(hook.kind->version)};
  const auto plural = hook.kind->plural_name();
  rule.resources = {plural};
  for (const auto& subresource : hook.options.subresources) rule.resources.push_back(plural + "/" + subresource);
  rule.scope = hook.kind->scope == Scope::Cluster ? "Cluster" : "Namespaced";
  return rule;
}

template <class Webhook>
Webhook webhook_of(const Hook& hook, const WebhookConfigOptions& options) {
  Webhook out;
  out.name = webhook_name(hook);
  out.clientConfig = client_config(options, hook.path);
  out.rules = {rule_of(hook)};
  out.failurePolicy = hook.options.fail_closed ? "Fail" : "Ignore";
  out.matchPolicy = hook.options.equivalent_versions ? "Equivalent" : "Exact";
  if (hook.options.namespace_selector) out.namespaceSelector = *hook.options.namespace_selector;
  if (hook.options.object_selector) out.objectSelector = *hook.options.object_selector;
  out.sideEffects = hook.options.side_effects_on_real_run ? "NoneOnDryRun" : "None";
  out.timeoutSeconds = static_cast<std::int32_t>(hook.options.timeout.count());
  out.admissionReviewVersions = {"v1", "v1beta1"};
  out.matchConditions = hook.options.match_conditions;
  return out;
}

template <class Configuration>
Configuration& begun(std::optional<Configuration>& configuration, const WebhookConfigOptions& options) {
  if (!configuration) {
    configuration.emplace();
    configuration->metadata.name = options.name;
    configuration->metadata.labels = options.labels;
    if (!options.inject_ca_from.empty())
      configuration->metadata.annotations[std::string(kInjectFrom)] = options.inject_ca_from;
  }
  return *configuration;
}

}  // namespace

std::string webhook_name(const Hook& hook) {
  return fmt::format("{}.{}.{}.{}", hook.type == Hook::Type::Defaulting ? "default" : "validate",
                     hook.kind->plural_name(), hook.kind->version,
                     hook.kind->group.empty() ? "core" : hook.kind->group);
}

WebhookConfigs webhook_configs(const Webhooks& webhooks, const WebhookConfigOptions& options) {
  WebhookConfigs configs;
  for (const auto& hook : webhooks.hooks()) {
    if (hook.type == Hook::Type::Defaulting) {
      auto webhook = webhook_of<MutatingWebhook>(hook, options);
      webhook.reinvocationPolicy = hook.options.reinvoke ? "IfNeeded" : "Never";
      begun(configs.mutating, options).webhooks.push_back(std::move(webhook));
    } else {
      begun(configs.validating, options).webhooks.push_back(webhook_of<ValidatingWebhook>(hook, options));
    }
  }
  return configs;
}

meta::ConversionWebhook conversion_webhook(const WebhookConfigOptions& options) {
  meta::ConversionWebhook out;
  out.service_namespace = options.service_namespace;
  out.service_name = options.service_name;
  out.path = kConvertPath;
  out.port = options.service_port;
  if (!options.url.empty()) out.url = options.url + std::string(kConvertPath);
  out.ca_bundle.data = options.ca_bundle;
  return out;
}

std::vector<json::Value> conversion_configs(const Webhooks& webhooks, const WebhookConfigOptions& options) {
  std::vector<json::Value> out;
  for (const auto& conversion : webhooks.conversions()) {
    // Of no version: all that is left is the conversion.
    const meta::Type type{.shape = meta::Shape::Record, .kind = &conversion.kind()};
    const std::array<const meta::Type*, 1> types = {&type};
    auto crd = meta::crd(types, {.conversion = conversion_webhook(options)});
    json::Value reduced = json::Object{{"apiVersion", crd["apiVersion"]},
                                       {"kind", crd["kind"]},
                                       {"metadata", crd["metadata"]},
                                       {"spec", json::Object{{"conversion", crd["spec"]["conversion"]}}}};
    if (!options.inject_ca_from.empty())
      reduced["metadata"]["annotations"] = json::Object{{std::string(kInjectFrom), options.inject_ca_from}};
    out.push_back(std::move(reduced));
  }
  return out;
}

}  // namespace kopper::runtime
