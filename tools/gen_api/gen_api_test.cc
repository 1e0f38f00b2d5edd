#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/meta/decode.h"
#include "kopper/meta/encode.h"

#include "emit.h"
#include "shop/cache_v1alpha1.h"  // written by gen_api from testdata/ during this build

namespace kopper::gen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Document document(std::string_view schemas, std::string_view paths = "") {
  Document out;
  out.add(*json::parse(R"({"paths":{)" + std::string(paths) + R"(},"components":{"schemas":{)" + std::string(schemas) +
                       "}}}"));
  return out;
}

std::string header(const Document& document, const Order& order = {}) {
  Options options{.groups = {"apps/v1"}};
  return emit(build_model(document, order, options), options).at("apps_v1.h");
}

std::string header_of(std::string_view properties, std::string_view type = "Thing", std::string_view required = "") {
  return header(document(R"("io.k8s.api.apps.v1.)" + std::string(type) + R"(":{"type":"object","required":[)" +
                         std::string(required) + R"(],"properties":{)" + std::string(properties) + "}}"));
}

TEST(Names, AreCutIntoGroupVersionAndType) {
  const auto pod = split_name("io.k8s.api.core.v1.Pod");
  EXPECT_EQ(pod.key(), "core/v1");
  EXPECT_EQ(pod.type, "Pod");
  EXPECT_EQ(split_name("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON").key(), "apiextensions/v1");
  EXPECT_EQ(split_name("com.example.my-shop.v1beta1.Order").key(), "myshop/v1beta1");
  EXPECT_EQ(split_name("Odd").type, "Odd");
}

TEST(Names, BecomeIdentifiers) {
  EXPECT_EQ(identifier("replicas"), "replicas");
  EXPECT_EQ(identifier("template"), "template_");
  EXPECT_EQ(identifier("stdin"), "stdin_");
  EXPECT_EQ(identifier("x-y.z"), "x_y_z");
  EXPECT_EQ(identifier("2nd"), "_2nd");
}

TEST(Endpoints, ComeFromThePaths) {
  const auto d = document("", R"("/apis/apps/v1/deployments":{"get":{"x-kubernetes-group-version-kind":
      {"group":"apps","version":"v1","kind":"Deployment"}}},
    "/apis/apps/v1/namespaces/{namespace}/deployments/{name}":{"put":{"x-kubernetes-group-version-kind":
      {"group":"apps","version":"v1","kind":"Deployment"}}},
    "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale":{"get":{"x-kubernetes-group-version-kind":
      {"group":"autoscaling","version":"v1","kind":"Scale"}}},
    "/api/v1/namespaces/{name}":{"parameters":[],"get":{"x-kubernetes-group-version-kind":
      {"group":"","version":"v1","kind":"Namespace"}}})");
  ASSERT_EQ(d.endpoints().size(), 2);
  const auto& deployment = d.endpoints().at({"apps", "v1", "Deployment"});
  EXPECT_EQ(deployment.plural, "deployments");
  EXPECT_TRUE(deployment.namespaced);
  EXPECT_FALSE(d.endpoints().at({"", "v1", "Namespace"}).namespaced);
}

TEST(Members, NumbersAreOptionalUnlessRequiredOrState) {
  EXPECT_THAT(header_of(R"("n":{"type":"integer","format":"int32"})"), HasSubstr("  std::optional<std::int32_t> n{};"));
  EXPECT_THAT(header_of(R"("n":{"type":"integer"})", "Thing", R"("n")"), HasSubstr("  std::int64_t n{};"));
  EXPECT_THAT(header_of(R"("n":{"type":"boolean","default":false})"), HasSubstr("  bool n{};"));
  EXPECT_THAT(header_of(R"("n":{"type":"integer","default":3})"), HasSubstr("  std::int64_t n{3};"));
  EXPECT_THAT(header_of(R"("n":{"type":"number"})", "ThingStatus"), HasSubstr("  double n{};"));
}

TEST(Members, OtherShapes) {
  EXPECT_THAT(header_of(R"("s":{"type":"string"})"), HasSubstr("  std::string s{};"));
  EXPECT_THAT(header_of(R"("s":{"type":"string","format":"byte"})"), HasSubstr("  ::kopper::Bytes s{};"));
  EXPECT_THAT(header_of(R"("m":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}})"),
              HasSubstr("  std::map<std::string, std::vector<std::string>> m{};"));
  EXPECT_THAT(header_of(R"("v":{"type":"object"},"w":{}, "x":true)"),
              HasSubstr("  ::kopper::json::Value v{};\n  ::kopper::json::Value w{};\n  ::kopper::json::Value x{};"));
  EXPECT_THAT(header_of(R"("q":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"})"),
              HasSubstr("  std::optional<::kopper::api::Quantity> q{};"));
  EXPECT_THAT(header_of(R"("t":{"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}]})"),
              HasSubstr("  ::kopper::api::Time t{};"));
}

TEST(Members, Structs) {
  const auto text = header(document(R"(
    "io.k8s.api.apps.v1.A":{"type":"object","required":["must"],"properties":{
      "may":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.apps.v1.B"}]},
      "must":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.apps.v1.B"}]},
      "there":{"default":{},"allOf":[{"$ref":"#/components/schemas/io.k8s.api.apps.v1.B"}]},
      "elsewhere":{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"},
      "unknown":{"$ref":"#/components/schemas/io.k8s.api.future.v9.X"},
      "inline":{"type":"object","properties":{"deep":{"type":"string"}}}}},
    "io.k8s.api.apps.v1.B":{"type":"object","properties":{"self":{"$ref":"#/components/schemas/io.k8s.api.apps.v1.B"}}})"));
  EXPECT_THAT(text, HasSubstr("  ::kopper::Box<B> may{};\n  B must{};\n  B there{};\n"));
  EXPECT_THAT(text, HasSubstr("  ::kopper::Box<::kopper::api::corev1::PodSpec> elsewhere{};"));
  EXPECT_THAT(text, HasSubstr("#include \"kopper/api/gen/core_v1.h\""));
  EXPECT_THAT(text, HasSubstr("  ::kopper::json::Value unknown{};"));
  EXPECT_THAT(text, HasSubstr("struct AInline {\n  std::string deep{};"));
  EXPECT_THAT(text, HasSubstr("struct B {\n  ::kopper::json::Value self{};"));
  EXPECT_LT(text.find("struct B {"), text.find("struct A {")) << "a struct stands after what it holds";
}

TEST(Members, FollowTheOrderTable) {
  const auto d = document(R"("io.k8s.api.apps.v1.A":{"type":"object","properties":{
    "args":{"type":"string"},"image":{"type":"string"},"name":{"type":"string"}}})");
  const auto text = header(d, {{"io.k8s.api.apps.v1.A", {"name", "gone", "image"}}});
  EXPECT_THAT(text, HasSubstr("  std::string name{};\n  std::string image{};\n  std::string args{};\n"));
}

TEST(Tables, KeepHowListsMerge) {
  const auto d = document(R"("io.k8s.api.apps.v1.A":{"type":"object","properties":{"ports":{"type":"array",
    "items":{"type":"string"},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port","protocol"],
    "x-kubernetes-patch-strategy":"merge,retainKeys","x-kubernetes-patch-merge-key":"port"}}})");
  const Options options{.groups = {"apps/v1"}};
  const auto text = emit(build_model(d, {}, options), options).at("apps_v1.cc");
  EXPECT_THAT(text, HasSubstr("constexpr std::string_view kA_ports[] = {\"port\", \"protocol\"};"));
  EXPECT_THAT(text, HasSubstr(".topology = ::kopper::Topology::Map, .map_keys = kA_ports, .patch_merge = true, "
                              ".patch_retain_keys = true, .patch_merge_key = \"port\""));
}

TEST(Groups, WithoutATypeAreAnError) {
  const Options options{.groups = {"none/v1"}};
  EXPECT_THROW(build_model(document(""), {}, options), Error);
}

TEST(Reduce, LosesNothingThatTheGeneratorReads) {
  const auto full = document(
      R"("com.example.shop.v1.Order":{"description":"prose","type":"object","x-kubernetes-group-version-kind":
         [{"group":"shop.example.com","version":"v1","kind":"Order"}],"properties":{"apiVersion":{"type":"string"},
         "spec":{"description":"more","type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":5}}}}},
         "com.example.shop.v1.OrderList":{"type":"object","x-kubernetes-group-version-kind":
         [{"group":"shop.example.com","version":"v1","kind":"OrderList"}],"properties":{"items":{"type":"array","items":{}},
         "metadata":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"}}})",
      R"("/apis/shop.example.com/v1/orders/{name}":{"get":{"x-kubernetes-group-version-kind":
         {"group":"shop.example.com","version":"v1","kind":"Order"}}})");
  const auto text = reduce(full, {"shop/v1"}).at("shop_v1.json");
  EXPECT_THAT(text, Not(HasSubstr("prose")));
  EXPECT_THAT(text, Not(HasSubstr("OrderList")));
  Document again;
  again.add(*json::parse(text));
  const Options options;
  const auto files = emit(build_model(again, {}, options), options);
  EXPECT_EQ(files, emit(build_model(full, {}, options), options));
  EXPECT_THAT(files.at("shop_v1.h"), HasSubstr(".plural = \"orders\", .scope = ::kopper::Scope::Cluster}"));
}

TEST(Reduce, KeepsWhatAGroupRefersTo) {
  const auto full = document(R"("io.k8s.api.apps.v1.A":{"allOf":[{"$ref":"#/components/schemas/other.B"}]},
                                "other.B":{"description":"prose","items":{"$ref":"#/components/schemas/other.C"}},
                                "other.C":{"type":"object"},"other.D":{"type":"object"})");
  const auto text = reduce(full, {"apps/v1"}).at("others.json");
  EXPECT_THAT(text, HasSubstr(R"("other.B":{"items":{"$ref":"#/components/schemas/other.C"}},)"));
  EXPECT_THAT(text, HasSubstr(R"("other.C":{"type":"object"})"));
  EXPECT_THAT(text, Not(HasSubstr("other.D")));
}

TEST(Definitions, AreTheSchemasByName) {
  const auto text = emit_definitions(document(R"("b.B":{"type":"object"},"a.A":{"format":"x\"y"})"));
  EXPECT_THAT(text, HasSubstr(R"(    {"a.A", R"j({"format":"x\"y"})j"},)"
                              "\n"
                              R"(    {"b.B", R"j({"type":"object"})j"},)"));
}

// The types of somebody's custom resource, from the document that a real API server serves for it.
TEST(CustomResource, DecodesAndEncodes) {
  using shop::cachev1alpha1::Memcached;
  static_assert(Memcached::kind.plural == "memcacheds");
  const auto* text = R"({"apiVersion":"cache.example.com/v1alpha1","kind":"Memcached","metadata":{"name":"demo"},)"
                     R"("spec":{"any":{"x":[1]},"port":"http","since":"2026-01-31T10:00:00Z","size":3,)"
                     R"("storage":{"class":"fast","sizes":[{"bytes":1,"name":"a"}]}},)"
                     R"("status":{"conditions":[{"status":"True","type":"Ready"}],"ready":3}})";
  const auto mc = meta::decode<Memcached>(text);
  ASSERT_TRUE(mc) << mc.error().str();
  EXPECT_EQ(mc->spec.size, 3);
  EXPECT_EQ(mc->spec.storage->sizes[0].name, "a");
  EXPECT_EQ(meta::encode(*mc), text);
}

}  // namespace
}  // namespace kopper::gen
