// CRDs of types that hold the built-in ones: a pod template inside a spec must come out as the server wants it.
#include "kopper/meta/crd.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/json/yaml.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

namespace {

// The types of the tutorial, as they stand there.
struct MemcachedSpec {
  int32_t size = 1;
  std::string image = "memcached:1.6-alpine";
  static constexpr auto rules = kopper::rules(kopper::field<&MemcachedSpec::size>.min(1).max(5));
};
struct MemcachedStatus {
  int32_t ready = 0;
  std::vector<kopper::Condition> conditions;
};
struct Memcached {
  static constexpr kopper::Kind kind{"cache.example.com", "v1alpha1", "Memcached"};
  kopper::ObjectMeta metadata;
  MemcachedSpec spec;
  MemcachedStatus status;
};

enum class Policy { Retain, Delete };

struct DatabaseSpec {
  std::optional<int32_t> replicas = 1;
  kopper::Quantity storage;
  std::optional<kopper::IntOrString> maxUnavailable;
  std::optional<kopper::Time> notBefore;
  kopper::LabelSelector selector;
  kopper::api::corev1::PodTemplateSpec template_;
  std::vector<kopper::PersistentVolumeClaim> volumeClaimTemplates;
  std::vector<kopper::api::corev1::ServicePort> ports;
  std::map<std::string, kopper::Quantity> limits;
  kopper::json::Value settings;
  Policy onRemoval{};
  static constexpr auto rules =
      kopper::rules(kopper::field<&DatabaseSpec::storage>.required().immutable(),
                    kopper::field<&DatabaseSpec::ports>.list_map({"name"}),
                    kopper::object.cel("self.replicas > 0 || self.onRemoval == 'Delete'", "keep at least one replica"));
};
struct DatabaseStatus {
  std::optional<int32_t> replicas;
  std::string selector;
  std::vector<kopper::Condition> conditions;
  static constexpr auto rules = kopper::rules(kopper::field<&DatabaseStatus::conditions>.list_map({"type"}));
};
struct Database {
  static constexpr kopper::Kind kind{
      .group = "example.com",
      .version = "v1",
      .kind = "Database",
      .short_names = {"db"},
      .columns = {{"Replicas", "integer", ".spec.replicas"}, {"Age", "date", ".metadata.creationTimestamp"}},
      .scale = {".spec.replicas", ".status.replicas", ".status.selector"}};
  kopper::ObjectMeta metadata;
  DatabaseSpec spec;
  DatabaseStatus status;
  static constexpr auto rules = kopper::rules(kopper::field<&Database::spec>.required().doc("What is wanted."));
};

void expect_golden(const std::string& name, const kopper::json::Value& value) {
  const std::string path = std::string(KOPPER_SOURCE_DIR) + "/tests/golden/crd/" + name;
  const std::string text = kopper::json::to_yaml(value);
  if (std::getenv("KOPPER_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path << " differs; KOPPER_UPDATE_GOLDEN=1 writes it anew";
}

TEST(CrdGolden, Tutorial) { expect_golden("tutorial.yaml", kopper::meta::crd<Memcached>()); }

TEST(CrdGolden, BuiltInTypesInside) { expect_golden("database.yaml", kopper::meta::crd<Database>()); }

TEST(CrdGolden, AnObjectOfItRoundTrips) {
  const std::string json =
      R"({"apiVersion":"example.com/v1","kind":"Database","metadata":{"name":"a"},"spec":{"replicas":2,"storage":"1Gi",)"
      R"("maxUnavailable":"25%","template":{"spec":{"containers":[{"name":"db","image":"mariadb"}]}},"onRemoval":"Delete"}})";
  const auto database = kopper::meta::decode<Database>(json);
  ASSERT_TRUE(database) << database.error().str();
  EXPECT_EQ(database->spec.template_.spec.containers.at(0).image, "mariadb");
  EXPECT_EQ(kopper::meta::encode(*database), json);
}

}  // namespace
