#include "kopper/plane/schema.h"

#include <gtest/gtest.h>

#include "kopper/api/gen/apps_v1.h"

namespace kopper::plane {
namespace {

const Schema& walk(const Schema& from, std::initializer_list<const char*> names) {
  const Schema* at = &from;
  for (const char* name : names) {
    at = at->child(name);
    if (at == nullptr) throw std::runtime_error(name);
    if (at->items != nullptr) at = at->items;
  }
  return *at;
}

TEST(BuiltinSchemas, KnowHowListsMerge) {
  BuiltinSchemas schemas;
  const Schema& deployment = schemas.of(meta::type_of<api::appsv1::Deployment>());
  const Schema& pod = walk(deployment, {"spec", "template", "spec"});
  const Schema& containers = *pod.child("containers");
  EXPECT_EQ(containers.type, Schema::Type::List);
  EXPECT_EQ(containers.list, Schema::List::Map);
  EXPECT_EQ(containers.keys, std::vector<std::string>{"name"});
  const Schema& ports = *containers.items->child("ports");
  EXPECT_EQ(ports.keys, (std::vector<std::string>{"containerPort", "protocol"}));
  EXPECT_TRUE(walk(deployment, {"spec"}).child("selector")->atomic);
}

TEST(BuiltinSchemas, KnowWhatIsWrittenWhenBlank) {
  BuiltinSchemas schemas;
  const Schema& container =
      walk(schemas.of(meta::type_of<api::appsv1::Deployment>()), {"spec", "template", "spec", "containers"});
  EXPECT_EQ(container.members->find("resources")->blank, Member::Blank::Always);
  EXPECT_EQ(container.members->find("args")->blank, Member::Blank::Omit);
  EXPECT_EQ(container.members->find("livenessProbe")->blank, Member::Blank::Keep);
  EXPECT_EQ(container.members->find("nope"), nullptr);
}

TEST(BuiltinSchemas, ScalarsKeepTheirForm) {
  BuiltinSchemas schemas;
  const Schema& deployment = schemas.of(meta::type_of<api::appsv1::Deployment>());
  const Schema& container = walk(deployment, {"spec", "template", "spec", "containers"});
  EXPECT_EQ(walk(container, {"resources", "limits"}).values->type, Schema::Type::IntOrString);
  EXPECT_EQ(walk(container, {"resources", "limits"}).values->format, "quantity");
  EXPECT_EQ(walk(deployment, {"metadata", "creationTimestamp"}).format, "date-time");
  EXPECT_EQ(walk(deployment, {"spec", "replicas"}).type, Schema::Type::Integer);
}

}  // namespace
}  // namespace kopper::plane
