#include "kopper/plane/compat.h"

#include <gtest/gtest.h>

#include "kopper/plane/plane.h"

namespace kopper::plane {
namespace {

PlaneOptions version(std::string text) {
  PlaneOptions out;
  out.version = std::move(text);
  return out;
}

// As Kubernetes 1.20 answers with the gate EphemeralContainers on.
class OldServer : public testing::Test {
 protected:
  OldServer() {
    loop_.run(plane_.start());
    ask("POST", "/api/v1/namespaces/default/pods",
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  }

  json::Value ask(std::string method, std::string target, std::string body = {},
                  std::string type = "application/json") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers.set("content-type", type);
    const http::Response response = loop_.run(plane_.handle(std::move(request)));
    return json::parse(loop_.run(http::read_all(*response.body))).value();
  }
  json::Value put(const std::string& rest) {
    return ask("PUT", kPath, R"({"apiVersion":"v1","kind":"EphemeralContainers",)" + rest + "}");
  }
  static std::string names(const json::Value& answer) {
    std::string out;
    const json::Array* all = answer["ephemeralContainers"].as_array();
    if (all == nullptr) return std::string(answer.text("message"));
    for (const json::Value& one : *all) out += std::string(one.text("name")) + " ";
    return out;
  }

  static constexpr const char* kPath = "/api/v1/namespaces/default/pods/p/ephemeralcontainers";
  rt::Loop loop_{rt::ClockMode::Manual};
  Plane plane_{version("v1.20.15")};
};

TEST_F(OldServer, HasAKindOfItsOwnForEphemeralContainers) {
  const json::Value none = ask("GET", kPath);
  EXPECT_EQ(none.text("kind"), "EphemeralContainers");
  EXPECT_EQ(json::dump(none["ephemeralContainers"]), "[]");
  const json::Value made = put(R"("metadata":{"name":"p"},"ephemeralContainers":[{"name":"a","image":"i"}])");
  EXPECT_EQ(made.text("kind"), "EphemeralContainers");
  EXPECT_EQ(made["ephemeralContainers"].as_array()->at(0).text("terminationMessagePolicy"), "File");
  EXPECT_EQ(made["metadata"].text("uid"), none["metadata"].text("uid"));
  const json::Value pod = ask("GET", "/api/v1/namespaces/default/pods/p");
  EXPECT_EQ(pod["spec"]["ephemeralContainers"], made["ephemeralContainers"]);
  EXPECT_EQ(pod["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

TEST_F(OldServer, PatchesTheList) {
  const auto patch = [&](const char* type, const char* body) {
    return names(ask("PATCH", kPath, body, std::string("application/") + type + "+json"));
  };
  EXPECT_EQ(patch("json-patch", R"([{"op":"add","path":"/ephemeralContainers/-","value":{"name":"a","image":"i"}}])"),
            "a ");
  EXPECT_EQ(patch("strategic-merge-patch", R"({"ephemeralContainers":[{"name":"b","image":"i"}]})"), "b a ");
  EXPECT_EQ(patch("strategic-merge-patch", R"({"spec":{"ephemeralContainers":[{"name":"c","image":"i"}]}})"), "b a ");
}

TEST_F(OldServer, RefusesWhatTheNewOneRefuses) {
  put(R"("metadata":{"name":"p"},"ephemeralContainers":[{"name":"a","image":"i"}])");
  EXPECT_EQ(names(put(R"("metadata":{"name":"p"},"ephemeralContainers":[{"name":"b","image":"i"}])")),
            "Pod \"p\" is invalid: spec.ephemeralContainers: Forbidden: existing ephemeral containers \"a\" may not be "
            "removed\n");
  EXPECT_EQ(names(put(R"("ephemeralContainers":[])")),
            "the name of the object (p based on URL) was undeterminable: name must be provided");
  EXPECT_EQ(put(R"("metadata":{"name":"p","resourceVersion":"1"},"ephemeralContainers":[])").text("reason"),
            "Conflict");
  EXPECT_EQ(names(ask("PUT", kPath, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})")),
            "Pod in version \"v1\" cannot be handled as a EphemeralContainers: converting (v1.Pod) to "
            "(core.EphemeralContainers): unknown conversion");
  EXPECT_EQ(names(ask("GET", "/api/v1/namespaces/default/pods/q/ephemeralcontainers")), "pods \"q\" not found");
}

TEST_F(OldServer, SaysSoWhereClientsLook) {
  EXPECT_EQ(ask("GET", "/version").text("minor"), "20");
  const json::Value core = ask("GET", "/api/v1");
  for (const json::Value& one : *core["resources"].as_array())
    if (one.text("name") == "pods/ephemeralcontainers") {
      EXPECT_EQ(one.text("kind"), "EphemeralContainers");
    }
}

TEST(MinorOf, AVersion) {
  EXPECT_EQ(minor_of("v1.20.15"), 20);
  EXPECT_EQ(minor_of("v1.37.1"), 37);
  EXPECT_GT(minor_of("tip"), 37);
}

}  // namespace
}  // namespace kopper::plane
