#include "kopper/meta/crd.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace kopper::meta {
namespace {

// Compares with tests/golden/crd/<name>; KOPPER_UPDATE_GOLDEN=1 writes it instead.
void expect_golden(const std::string& name, const json::Value& value) {
  const std::string path = std::string(KOPPER_SOURCE_DIR) + "/tests/golden/crd/" + name;
  const std::string text = json::dump_pretty(value);
  if (std::getenv("KOPPER_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path << " differs; KOPPER_UPDATE_GOLDEN=1 writes it anew";
}

struct ObjectMeta {
  std::string name, namespace_;
  std::map<std::string, std::string> labels;
  std::string resourceVersion, creationTimestamp;
  std::vector<json::Value> managedFields;
};
struct Condition {
  std::string type, status, reason, message;
  static constexpr auto rules = kopper::rules(field<&Condition::type>.required(), field<&Condition::status>.required());
};
struct Template {
  ObjectMeta metadata;
  json::Value spec;
};

struct MemcachedSpec {
  int32_t size = 1;
  std::string image = "memcached:1.6-alpine";
  static constexpr auto rules = kopper::rules(kopper::field<&MemcachedSpec::size>.min(1).max(5));
};
struct MemcachedStatus {
  int32_t ready = 7;
  std::vector<Condition> conditions;
};
struct Memcached {
  static constexpr kopper::Kind kind{"cache.example.com", "v1alpha1", "Memcached"};
  ObjectMeta metadata;
  MemcachedSpec spec;
  MemcachedStatus status;
};

TEST(Crd, OfThePlainestType) { expect_golden("memcached.json", crd<Memcached>()); }

struct Full {
  static constexpr Kind kind{
      .group = "example.com",
      .version = "v1",
      .kind = "Policy",
      .short_names = {"pol", "ep"},
      .categories = {"all"},
      .scope = Scope::Cluster,
      .columns = {{"Size", "integer", ".spec.replicas"},
                  {.name = "Age",
                   .type = "date",
                   .path = ".metadata.creationTimestamp",
                   .priority = 1,
                   .description = "Since when."}},
      .scale = {
          .spec_replicas = ".spec.replicas", .status_replicas = ".status.replicas", .selector = ".status.selector"}};
  ObjectMeta metadata;
  struct Spec {
    int32_t replicas = 1;
    Template template_;
  } spec;
  struct Status {
    int32_t replicas = 0;
    std::string selector;
  } status;
};
struct Older {
  static constexpr Kind kind{.group = "example.com",
                             .version = "v1beta1",
                             .kind = "Policy",
                             .scope = Scope::Cluster,
                             .storage = false,
                             .deprecated = "example.com/v1beta1 Policy is deprecated; use v1"};
  ObjectMeta metadata;
  std::string text;
};

TEST(Crd, OfSeveralVersionsWithEverything) {
  const CrdOptions options{
      .conversion = ConversionWebhook{.service_namespace = "ns", .service_name = "hook", .ca_bundle = {"pem"}}};
  expect_golden("policy.json", crd<Full, Older>(options));
}

}  // namespace
}  // namespace kopper::meta
