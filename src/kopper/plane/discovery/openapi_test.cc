#include "kopper/plane/discovery/openapi.h"

#include <set>

#include <gtest/gtest.h>

#include "kopper/plane/discovery/openapi_documents.h"
#include "kopper/plane/discovery/openapi_schemas.h"
#include "kopper/rt/loop.h"

namespace kopper::plane {
namespace {

constexpr const char* kDefinition = R"({"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{
  "description":"A tab","type":"object","required":["spec"],"properties":{
    "spec":{"type":"object","properties":{
      "replicas":{"type":"integer","format":"int32","default":1,"minimum":0},
      "size":{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]},
      "maybe":{"type":"string","nullable":true,"description":"or not"},
      "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
      "inner":{"type":"object","x-kubernetes-embedded-resource":true},
      "ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["port"],
        "items":{"type":"object","properties":{"port":{"type":"integer"}}}}}}}}}}]}})";

class OpenApiTest : public testing::Test {
 protected:
  http::Response ask(std::string target, http::Headers headers = {}) {
    Call call;
    call.request.target = std::move(target);
    call.request.headers = std::move(headers);
    call.info = request_info(call.request);
    auto out = openapi_.answer(call);
    if (!out) return http::text_response(0, "");
    return std::move(*out);
  }
  std::string text(http::Response response) { return loop_.run(http::read_all(*response.body)); }
  json::Value document(std::string target) { return json::parse(text(ask(std::move(target)))).value(); }
  void add_custom() {
    auto custom = std::make_shared<Custom>();
    custom->definition = json::parse(kDefinition).value();
    auto resource = std::make_shared<Resource>();
    resource->group = "stable.example.com";
    resource->version = "v1";
    resource->plural = "crontabs";
    resource->singular = "crontab";
    resource->kind = "CronTab";
    resource->list_kind = "CronTabList";
    resource->subresources = {"scale", "status"};
    resource->custom = std::move(custom);
    catalog_.add(resource);
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  Catalog catalog_;
  OpenApi openapi_{catalog_, "v1.37.1"};
};

// Every definition that something points to is there.
void expect_complete(const json::Value& value, const json::Value& definitions, std::set<std::string>& missing) {
  if (const auto* object = value.as_object()) {
    for (const auto& [key, member] : *object) {
      if (key == "$ref" && member.is_string()) {
        const std::string& target = *member.as_string();
        const std::string name = target.substr(target.rfind('/') + 1);
        if (!definitions[name].is_object()) missing.insert(name);
      }
      expect_complete(member, definitions, missing);
    }
  } else if (const auto* array = value.as_array()) {
    for (const json::Value& one : *array) expect_complete(one, definitions, missing);
  }
}

TEST_F(OpenApiTest, IndexPointsAtEachVersion) {
  add_custom();
  const json::Value index = document("/openapi/v3");
  ASSERT_TRUE(index["paths"]["api/v1"].is_object());
  ASSERT_TRUE(index["paths"]["apis/stable.example.com/v1"].is_object());
  const std::string url(index["paths"]["apis/apps/v1"].text("serverRelativeURL"));
  const http::Response exact = ask(url);
  EXPECT_EQ(exact.status, 200);
  EXPECT_EQ(exact.headers.get("cache-control"), "public, immutable");
  const http::Response old = ask("/openapi/v3/apis/apps/v1?hash=OLD");
  EXPECT_EQ(old.status, 301);
  EXPECT_EQ(old.headers.get("location"), url);
  EXPECT_EQ(ask("/openapi/v3/apis/nobody/v1").status, 404);
  EXPECT_EQ(ask("/openapi/v3/apis/apps/v1", {{"accept", "text/html"}}).status, 406);
  EXPECT_EQ(ask("/openapi/v4").status, 0);
}

TEST_F(OpenApiTest, HashChangesOnlyWithTheContent) {
  const std::string apps(document("/openapi/v3")["paths"]["apis/apps/v1"].text("serverRelativeURL"));
  const std::string etag(ask("/openapi/v2").headers.get("etag").value());
  add_custom();
  EXPECT_EQ(document("/openapi/v3")["paths"]["apis/apps/v1"].text("serverRelativeURL"), apps);
  const http::Response changed = ask("/openapi/v2", {{"if-none-match", etag}});
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(ask("/openapi/v2", {{"if-none-match", std::string(*changed.headers.get("etag"))}}).status, 304);
}

TEST_F(OpenApiTest, EveryReferenceLeadsSomewhere) {
  add_custom();
  std::set<std::string> missing;
  for (const Catalog::Group& group : catalog_.groups()) {
    for (const Catalog::Version& version : group.versions) {
      const auto whole = json::parse(openapi::document_v3(group, version, "v1")).value();
      expect_complete(whole, whole["components"]["schemas"], missing);
    }
  }
  const json::Value two = document("/openapi/v2");
  expect_complete(two, two["definitions"], missing);
  EXPECT_EQ(missing, std::set<std::string>());
}

TEST_F(OpenApiTest, DescribesBuiltinKinds) {
  const json::Value apps = document("/openapi/v3/apis/apps/v1");
  const json::Value& schemas = apps["components"]["schemas"];
  EXPECT_EQ(json::dump(schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]),
            R"([{"group":"apps","kind":"Deployment","version":"v1"}])");
  EXPECT_EQ(json::dump(schemas["io.k8s.api.core.v1.Container"]["properties"]["ports"]),
            R"({"type":"array","items":{"$ref":"#/components/schemas/io.k8s.api.core.v1.ContainerPort"},)"
            R"("x-kubernetes-list-map-keys":["containerPort","protocol"],"x-kubernetes-list-type":"map",)"
            R"("x-kubernetes-patch-merge-key":"containerPort","x-kubernetes-patch-strategy":"merge"})");
  EXPECT_EQ(json::dump(schemas["io.k8s.api.apps.v1.DeploymentList"]["properties"]["items"]["items"]),
            R"({"$ref":"#/components/schemas/io.k8s.api.apps.v1.Deployment"})");
  const json::Value& patch = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
  EXPECT_EQ(patch.text("operationId"), "patchAppsV1NamespacedDeployment");
  EXPECT_EQ(patch.text("x-kubernetes-action"), "patch");
  std::set<std::string> parameters;
  for (const json::Value& one : *patch["parameters"].as_array()) parameters.emplace(one.text("name"));
  EXPECT_EQ(parameters, (std::set<std::string>{"dryRun", "fieldManager", "fieldValidation", "force"}));
  const json::Value& scale = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["put"];
  EXPECT_EQ(scale.text("operationId"), "replaceAppsV1NamespacedDeploymentScale");
  EXPECT_EQ(scale["x-kubernetes-group-version-kind"].text("group"), "autoscaling");
  EXPECT_EQ(
      document(
          "/openapi/v3/apis/rbac.authorization.k8s.io/v1")["paths"]["/apis/rbac.authorization.k8s.io/v1/clusterroles"]
                                                          ["delete"]
                                                              .text("operationId"),
      "deleteRbacAuthorizationV1CollectionClusterRole");
}

TEST_F(OpenApiTest, DescribesCustomResources) {
  add_custom();
  const json::Value whole = document("/openapi/v3/apis/stable.example.com/v1");
  const json::Value& tab = whole["components"]["schemas"]["com.example.stable.v1.CronTab"];
  EXPECT_EQ(tab.text("description"), "A tab");
  EXPECT_EQ(json::dump(tab["properties"]["metadata"]),
            R"({"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]})");
  EXPECT_EQ(json::dump(tab["properties"]["spec"]["properties"]["inner"]["required"]), R"(["kind","apiVersion"])");
  EXPECT_EQ(*tab["properties"]["spec"]["properties"]["replicas"]["default"].as_int(), 1);
  EXPECT_TRUE(whole["paths"]["/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}/scale"].is_object());
  const json::Value& patch =
      whole["paths"]["/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}"]["patch"];
  EXPECT_EQ(patch.text("operationId"), "patchStableExampleComV1NamespacedCronTab");
  EXPECT_FALSE(patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_object());
}

TEST_F(OpenApiTest, OlderFormSaysLess) {
  add_custom();
  const json::Value two = document("/openapi/v2");
  const json::Value& definitions = two["definitions"];
  EXPECT_EQ(json::dump(definitions["io.k8s.api.core.v1.Pod"]["properties"]["spec"]),
            R"({"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec"})");
  EXPECT_EQ(json::dump(definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]),
            R"({"format":"int-or-string","type":"string"})");
  EXPECT_EQ(json::dump(definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]), R"({"type":"string"})");
  const json::Value& spec = definitions["com.example.stable.v1.CronTab"]["properties"]["spec"]["properties"];
  EXPECT_EQ(json::dump(spec["replicas"]), R"({"type":"integer","format":"int32","minimum":0})");
  EXPECT_EQ(json::dump(spec["size"]), R"({"x-kubernetes-int-or-string":true})");
  EXPECT_EQ(json::dump(spec["maybe"]), R"({"description":"or not"})");
  EXPECT_EQ(json::dump(spec["free"]), R"({"x-kubernetes-preserve-unknown-fields":true})");
  EXPECT_EQ(json::dump(spec["ports"]["items"]), R"({"type":"object","properties":{"port":{"type":"integer"}}})");
}

// Reads protobuf as far as the tests need.
struct Proto {
  std::string_view bytes;

  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return out;
  }
  // The messages and texts of one field.
  static std::vector<std::string_view> all(std::string_view message, std::uint64_t field) {
    std::vector<std::string_view> out;
    Proto in{message};
    while (!in.bytes.empty()) {
      const std::uint64_t tag = in.varint();
      if ((tag & 7U) == 0) {
        in.varint();
      } else if ((tag & 7U) == 1) {
        in.bytes.remove_prefix(8);
      } else {
        const std::uint64_t size = in.varint();
        if (tag >> 3U == field) out.push_back(in.bytes.substr(0, size));
        in.bytes.remove_prefix(std::min<std::size_t>(size, in.bytes.size()));
      }
    }
    return out;
  }
  static std::string_view one(std::string_view message, std::uint64_t field) {
    const auto found = all(message, field);
    return found.empty() ? std::string_view() : found.front();
  }
  static std::string_view named(std::string_view map, std::uint64_t field, std::string_view name) {
    for (const std::string_view entry : all(map, field))
      if (one(entry, 1) == name) return one(entry, 2);
    return {};
  }
};

TEST_F(OpenApiTest, OlderFormIsAlsoProtobuf) {
  const http::Response response =
      ask("/openapi/v2", {{"accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}});
  EXPECT_EQ(response.headers.get("content-type"), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  const std::string bytes = loop_.run(http::read_all(*response.body));
  EXPECT_EQ(Proto::one(bytes, 1), "2.0");
  const std::string_view container = Proto::named(Proto::one(bytes, 9), 1, "io.k8s.api.core.v1.Container");
  EXPECT_EQ(Proto::one(container, 19), "name");  // required
  const std::string_view properties = Proto::one(container, 25);
  const std::string_view ports = Proto::named(properties, 1, "ports");
  EXPECT_EQ(Proto::one(Proto::one(ports, 22), 1), "array");
  EXPECT_EQ(Proto::one(Proto::one(Proto::one(ports, 23), 1), 1), "#/definitions/io.k8s.api.core.v1.ContainerPort");
  EXPECT_EQ(Proto::one(Proto::named(ports, 31, "x-kubernetes-patch-merge-key"), 2), "\"containerPort\"\n");
  const std::string_view path =
      Proto::named(Proto::one(bytes, 8), 2, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
  const std::string_view patch = Proto::one(path, 8);
  EXPECT_EQ(Proto::one(patch, 5), "patchAppsV1NamespacedDeployment");
  const auto parameters = Proto::all(patch, 8);
  ASSERT_EQ(parameters.size(), 5U);
  const std::string_view dry_run = Proto::one(Proto::one(Proto::one(parameters[1], 1), 2), 3);
  EXPECT_EQ(Proto::one(dry_run, 4), "dryRun");
  EXPECT_EQ(Proto::one(Proto::named(patch, 13, "x-kubernetes-action"), 2), "\"patch\"\n");
}

}  // namespace
}  // namespace kopper::plane
