#include "kopper/plane/crd/check_crd.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "kopper/json/yaml.h"

namespace kopper::plane {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(std::string(KOPPER_SOURCE_DIR) + "/" + name);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(CheckCrd, OurOwnDefinitionsAreFine) {
  BuiltinSchemas builtins;
  for (const char* name :
       {"tests/golden/crd/database.yaml", "tests/golden/crd/memcached.json", "tests/golden/crd/policy.json",
        "tests/golden/crd/tutorial.yaml", "deploy/operator-manager.yaml"}) {
    auto documents = json::parse_yaml(file(name));
    ASSERT_TRUE(documents) << name;
    for (json::YamlDocument& document : *documents) {
      json::Value& crd = document.value;
      if (std::as_const(crd).text("kind") != "CustomResourceDefinition") continue;
      default_crd(crd);
      EXPECT_EQ(check_crd(crd, builtins).str(), "[]") << name;
    }
  }
}

}  // namespace
}  // namespace kopper::plane
