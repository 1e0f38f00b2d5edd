#include "kopper/meta/kind.h"

#include <gtest/gtest.h>

namespace kopper {
namespace {

TEST(Kind, NamesItsVersion) {
  EXPECT_EQ((Kind{"apps", "v1", "Deployment"}.api_version()), "apps/v1");
  EXPECT_EQ((Kind{"", "v1", "Pod"}.api_version()), "v1");
}

TEST(Kind, GuessesEnglishPlurals) {
  const auto plural = [](std::string_view kind) { return Kind{.kind = kind}.plural_name(); };
  EXPECT_EQ(plural("Memcached"), "memcacheds");
  EXPECT_EQ(plural("NetworkPolicy"), "networkpolicies");
  EXPECT_EQ(plural("Gateway"), "gateways");
  EXPECT_EQ(plural("Ingress"), "ingresses");
  EXPECT_EQ(plural("Mesh"), "meshes");
  EXPECT_EQ((Kind{.kind = "Endpoints", .plural = "endpoints"}.plural_name()), "endpoints");
}

TEST(Kind, NamesItsDefinition) {
  EXPECT_EQ((Kind{"cache.example.com", "v1alpha1", "Memcached"}.resource_name()), "memcacheds.cache.example.com");
  EXPECT_EQ((Kind{"g", "v1", "PodSet"}.singular_name()), "podset");
}

TEST(Kind, IsAConstant) {
  constexpr Kind kind{
      .group = "ualter.com",
      .version = "v1beta1",
      .kind = "Podbuggertool",
      .short_names = {"pbt"},
      .columns = {{"Ready", "integer", ".status.ready"}, {"Age", "date", ".metadata.creationTimestamp"}}};
  static_assert(kind.short_names[0] == "pbt" && kind.columns.size() == 2);
  static_assert(kind == Kind{"ualter.com", "v1beta1", "Podbuggertool"});
}

}  // namespace
}  // namespace kopper
