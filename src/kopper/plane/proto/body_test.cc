// Bodies in protobuf, all the way through the server. Expectations are what kube-apiserver 1.37.1 answers.
#include <gtest/gtest.h>

#include "kopper/plane/plane.h"
#include "kopper/plane/proto/decode.h"

namespace kopper::plane {
namespace {

class ProtoBodyTest : public testing::Test {
 protected:
  ProtoBodyTest() { loop_.run(plane_.start()); }

  struct Answer {
    int status = 0;
    json::Value body;
  };
  Answer ask(std::string method, std::string target, std::string body = {},
             std::string type = std::string(proto::kMediaType)) {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.set("content-type", type);
    request.headers.set("accept", "application/vnd.kubernetes.protobuf, */*");
    const http::Response response = loop_.run(plane_.handle(std::move(request)));
    return {response.status, json::parse(loop_.run(http::read_all(*response.body))).value()};
  }

  // Short ones only: a length is one byte.
  static std::string part(char field, const std::string& bytes) {
    return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  }
  static std::string object(const std::string& version, const std::string& kind, const std::string& raw) {
    return std::string("k8s\0", 4) + part(1, part(1, version) + part(2, kind)) + part(2, raw);
  }
  static std::string config_map(const std::string& version, const std::string& kind) {
    return object(version, kind, part(1, part(1, "a")) + part(2, part(1, "k") + part(2, "v")));
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  Plane plane_;
};

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kMap = "/api/v1/namespaces/default/configmaps/a";

TEST_F(ProtoBodyTest, MakesAndDeletesObjects) {
  const Answer made = ask("POST", kMaps, config_map("v1", "ConfigMap"));
  ASSERT_EQ(made.status, 201) << json::dump(made.body);
  EXPECT_EQ(made.body["data"].text("k"), "v");
  EXPECT_EQ(ask("GET", kMap).body, made.body);

  const std::string options = part(2, part(1, "another uid"));
  EXPECT_EQ(ask("DELETE", kMap, object("v1", "DeleteOptions", options)).status, 409);
  EXPECT_EQ(ask("DELETE", kMap, object("v1", "DeleteOptions", "")).status, 200);
}

TEST_F(ProtoBodyTest, KindMayFollowFromThePath) { EXPECT_EQ(ask("POST", kMaps, config_map("", "")).status, 201); }

TEST_F(ProtoBodyTest, SaysWhatIsWrong) {
  const auto message = [&](const std::string& body, const std::string& type = std::string(proto::kMediaType)) {
    return std::string(ask("POST", kMaps, body, type).body.text("message"));
  };
  EXPECT_EQ(message("{}"),
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a "
            "protobuf message, expected prefix [107 56 115 0] ({})");
  EXPECT_EQ(message(std::string("k8s\0\x0a", 5)),
            "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a)");
  EXPECT_EQ(message(object("v1", "ConfigMap", "\x12\x64")),
            R"(ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF)");
  EXPECT_EQ(message("{}", "application/cbor"),
            "the body of the request was in an unknown format - accepted media types include: application/json, "
            "application/yaml, application/vnd.kubernetes.protobuf");
}

}  // namespace
}  // namespace kopper::plane
