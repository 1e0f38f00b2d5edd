#include "kopper/runtime/webhook_config.h"

#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/json/yaml.h"
#include "kopper/meta/encode.h"

namespace kopper::runtime {
namespace {

struct Spec {
  int32_t size = 1;
};
struct Cache {
  static constexpr Kind kind{"cache.example.com", "v1", "Cache"};
  ObjectMeta metadata;
  Spec spec;
};
struct OldCache {
  static constexpr Kind kind{.group = "cache.example.com", .version = "v1alpha1", .kind = "Cache", .storage = false};
  ObjectMeta metadata;
  Spec spec;
};
struct Site {
  static constexpr Kind kind{.group = "example.com", .version = "v1", .kind = "Site", .scope = Scope::Cluster};
  ObjectMeta metadata;
  Spec spec;
};

Webhooks hooks() {
  HookOptions strict;
  strict.operations = {Operation::Delete};
  strict.subresources = {"status"};
  strict.fail_closed = false;
  strict.timeout = std::chrono::seconds(3);
  strict.equivalent_versions = false;
  strict.side_effects_on_real_run = true;
  strict.namespace_selector = LabelSelector{.matchLabels = {{"env", "prod"}}};
  return webhooks()
      .defaulting<Cache>([](Cache&) {})
      .validating<Site>([](const Admission<Site>&) { return Verdict::allow(); }, strict)
      .converting(conversion<Cache>().spoke<OldCache>([](const OldCache&, Cache&) {}, [](const Cache&, OldCache&) {}));
}

template <class T>
std::string yaml(const T& object) {
  return json::to_yaml(meta::to_value(object));
}

TEST(WebhookConfig, IsMadeOfTheFunctions) {
  const auto configs = webhook_configs(hooks(), {.name = "op",
                                                 .service_name = "hooks",
                                                 .service_namespace = "ops",
                                                 .ca_bundle = "PEM",
                                                 .labels = {{"app", "op"}}});
  EXPECT_EQ(yaml(*configs.mutating), R"(apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: op
  labels:
    app: op
webhooks:
- name: default.caches.v1.cache.example.com
  clientConfig:
    service:
      namespace: ops
      name: hooks
      path: /mutate-cache-example-com-v1-cache
      port: 443
    caBundle: UEVN
  rules:
  - operations:
    - CREATE
    - UPDATE
    apiGroups:
    - cache.example.com
    apiVersions:
    - v1
    resources:
    - caches
    scope: Namespaced
  failurePolicy: Fail
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: 10
  admissionReviewVersions:
  - v1
  - v1beta1
  reinvocationPolicy: Never
)");
  EXPECT_EQ(yaml(*configs.validating), R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: op
  labels:
    app: op
webhooks:
- name: validate.sites.v1.example.com
  clientConfig:
    service:
      namespace: ops
      name: hooks
      path: /validate-example-com-v1-site
      port: 443
    caBundle: UEVN
  rules:
  - operations:
    - DELETE
    apiGroups:
    - example.com
    apiVersions:
    - v1
    resources:
    - sites
    - sites/status
    scope: Cluster
  failurePolicy: Ignore
  matchPolicy: Exact
  namespaceSelector:
    matchLabels:
      env: prod
  sideEffects: NoneOnDryRun
  timeoutSeconds: 3
  admissionReviewVersions:
  - v1
  - v1beta1
)");
}

TEST(WebhookConfig, MayBeAUrl) {
  const WebhookConfigOptions options{.url = "https://127.0.0.1:9443"};
  const auto configs = webhook_configs(hooks(), options);
  const auto& client = configs.mutating->webhooks[0].clientConfig;
  EXPECT_EQ(client.url, "https://127.0.0.1:9443/mutate-cache-example-com-v1-cache");
  EXPECT_FALSE(client.service.has_value());
  EXPECT_EQ(conversion_webhook(options).url, "https://127.0.0.1:9443/convert");
}

TEST(WebhookConfig, LeavesTheCaToCertManager) {
  const WebhookConfigOptions options{.inject_ca_from = "ops/serving-cert"};
  const auto configs = webhook_configs(hooks(), options);
  EXPECT_EQ(configs.mutating->metadata.annotations.at("cert-manager.io/inject-ca-from"), "ops/serving-cert");
  EXPECT_EQ(configs.validating->metadata.annotations.at("cert-manager.io/inject-ca-from"), "ops/serving-cert");
  EXPECT_EQ(configs.mutating->webhooks[0].clientConfig.caBundle.data, "");
  EXPECT_EQ(conversion_configs(hooks(), options)[0]["metadata"]["annotations"].text("cert-manager.io/inject-ca-from"),
            "ops/serving-cert");
}

TEST(WebhookConfig, SaysOnlyHowACrdConverts) {
  const auto crds =
      conversion_configs(hooks(), {.service_name = "hooks", .service_namespace = "ops", .ca_bundle = "PEM"});
  ASSERT_EQ(crds.size(), 1U);
  EXPECT_EQ(json::to_yaml(crds[0]), R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: caches.cache.example.com
spec:
  conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        service:
          namespace: ops
          name: hooks
          path: /convert
          port: 443
        caBundle: UEVN
      conversionReviewVersions:
      - v1
)");
}

TEST(WebhookConfig, OfNothingIsNothing) {
  const auto configs = webhook_configs(webhooks(), {});
  EXPECT_FALSE(configs.mutating || configs.validating);
  EXPECT_TRUE(conversion_configs(webhooks(), {}).empty());
}

}  // namespace
}  // namespace kopper::runtime
