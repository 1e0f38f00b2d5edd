// Webhooks over TLS on loopback, called by a plane in the same process.
#include <functional>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/http/server.h"
#include "kopper/meta/base64.h"
#include "kopper/plane/plane.h"
#include "kopper/plane/webhooks/webhook_caller.h"
#include "kopper/rt/cert.h"

namespace kopper::plane {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string base64(std::string_view bytes) {
  std::string out;
  meta::append_base64(out, bytes);
  return out;
}

const rt::CertifiedKey& authority() {
  static const rt::CertifiedKey ca = rt::make_ca("hooks authority");
  return ca;
}

rt::TlsContext server_tls() {
  rt::CertificateSpec spec;
  spec.common_name = "hooks";
  spec.dns_names = {"hooks.default.svc"};
  spec.ip_addresses = {"127.0.0.1"};
  const rt::CertifiedKey key = rt::issue(authority(), spec);
  rt::TlsServerOptions options;
  options.cert_pem = key.cert_pem;
  options.key_pem = key.key_pem;
  options.alpn = {"h2", "http/1.1"};
  return rt::TlsContext::server(options);
}

// What the webhook at a path answers: the `response` for a `request`.
using Judge = std::function<json::Object(const json::Value& request)>;

class Hooks final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request request) override { co_return answer(request); }

  std::map<std::string, Judge> judges;
  std::vector<std::string> called;  // paths
  std::vector<json::Value> requests;

 private:
  http::Response answer(const http::Request& request) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    called.push_back(path);
    const auto judge = judges.find(path);
    if (judge == judges.end()) return http::text_response(404, "404 page not found\n");
    json::Value review = json::parse(request.body).value();
    requests.push_back(review["request"]);
    json::Object response = judge->second(review["request"]);
    response["uid"] = review["request"]["uid"];
    review["response"] = std::move(response);
    return http::text_response(200, json::dump(review), "application/json");
  }
};

json::Object allow() { return {{"allowed", true}}; }

json::Object patch(std::string_view operations) {
  return {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", base64(operations)}};
}

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

class WebhooksTest : public testing::Test {
 protected:
  WebhooksTest() {
    http::ServerOptions options;
    options.tls = [context = server_tls()] { return context; };
    server_.emplace(rt::Listener::tcp("127.0.0.1", 0), hooks_, std::move(options));
    loop_.run(plane_.start());
  }

  struct Answer {
    int status = 0;
    json::Value body;
    std::vector<std::string> warnings;
    std::string_view message() const { return body.text("message"); }
  };
  Answer ask(std::string method, std::string target, std::string body = {}, std::string type = "application/json") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers.set("content-type", type);
    http::Response response = loop_.run(plane_.handle(std::move(request)));
    Answer out{.status = response.status};
    for (const std::string_view warning : response.headers.all("warning")) out.warnings.emplace_back(warning);
    out.body = json::parse(loop_.run(http::read_all(*response.body))).value();
    return out;
  }
  Answer merge(std::string target, std::string body) {
    return ask("PATCH", std::move(target), std::move(body), "application/merge-patch+json");
  }
  Answer make_map(std::string name, std::string query = {}) {
    return ask("POST", kMaps + query, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
  }

  std::string url(std::string_view path) const { return fmt::format("https://127.0.0.1:{}{}", server_->port(), path); }
  json::Value by_url(std::string_view path) const {
    return json::Object{{"url", url(path)}, {"caBundle", base64(authority().cert_pem)}};
  }
  // Registers a webhook NAME.example.com, by default for all that happens to ConfigMaps.
  void configure(const char* kind, std::string name, json::Value client, std::string_view more = "{}") {
    json::Value hook = json::parse(R"({"rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],
      "resources":["configmaps"]}],"sideEffects":"None","admissionReviewVersions":["v1"]})")
                           .value();
    hook["name"] = name + ".example.com";
    hook["clientConfig"] = std::move(client);
    const json::Value given = json::parse(more).value();
    for (const auto& [key, value] : *given.as_object()) hook[key] = value;
    const json::Value configuration =
        json::Object{{"metadata", json::Object{{"name", name}}}, {"webhooks", json::Array{hook}}};
    const Answer made = ask("POST", fmt::format("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", kind),
                            json::dump(configuration));
    ASSERT_EQ(made.status, 201) << json::dump(made.body);
  }

  rt::Loop loop_;
  Hooks hooks_;
  std::optional<http::Server> server_;
  Plane plane_;
};

TEST_F(WebhooksTest, MutatesThenValidates) {
  hooks_.judges["/mutate"] = [](const json::Value&) {
    return patch(R"([{"op":"add","path":"/data","value":{"k":"v"}}])");
  };
  hooks_.judges["/validate"] = [](const json::Value& request) {
    const bool deleted = request.text("operation") == "DELETE";
    EXPECT_EQ(request[deleted ? "oldObject" : "object"]["data"].text("k"), "v");
    json::Object out = allow();
    out["warnings"] = json::Array{"mind the gap"};
    return out;
  };
  configure("mutating", "m.hooks", by_url("/mutate"));
  configure("validating", "v.hooks", by_url("/validate"));
  const Answer made = make_map("a");
  ASSERT_EQ(made.status, 201) << json::dump(made.body);
  EXPECT_EQ(made.body["data"].text("k"), "v");
  EXPECT_THAT(made.warnings, ElementsAre(R"(299 - "mind the gap")"));
  const json::Value& request = hooks_.requests.front();
  EXPECT_EQ(json::dump(request["kind"]), R"({"group":"","version":"v1","kind":"ConfigMap"})");
  EXPECT_EQ(request["requestResource"].text("resource"), "configmaps");
  EXPECT_EQ(request.text("operation"), "CREATE");
  EXPECT_EQ(request.text("name"), "a");
  EXPECT_EQ(request.text("namespace"), "default");
  EXPECT_EQ(request["options"].text("kind"), "CreateOptions");
  EXPECT_TRUE(request["oldObject"].is_null());

  EXPECT_EQ(ask("DELETE", std::string(kMaps) + "/a").status, 500);  // /mutate would change what is deleted
  hooks_.judges["/mutate"] = [](const json::Value&) { return allow(); };
  EXPECT_EQ(ask("DELETE", std::string(kMaps) + "/a").status, 200);
  EXPECT_TRUE(hooks_.requests.back()["object"].is_null());
  EXPECT_EQ(hooks_.requests.back()["oldObject"]["data"].text("k"), "v");
  EXPECT_EQ(hooks_.requests.back()["options"].text("kind"), "DeleteOptions");
}

TEST_F(WebhooksTest, DenialIsPassedOn) {
  json::Value status;
  hooks_.judges["/x"] = [&](const json::Value&) { return json::Object{{"allowed", false}, {"status", status}}; };
  configure("validating", "x.hooks", by_url("/x"));
  const Answer silent = make_map("a");
  EXPECT_EQ(silent.status, 400);
  EXPECT_EQ(silent.message(), R"(admission webhook "x.hooks.example.com" denied the request without explanation)");
  status = json::parse(R"({"code":422,"reason":"Invalid","message":"not today",
    "details":{"causes":[{"field":"data","message":"no"}]}})")
               .value();
  const Answer denied = make_map("a");
  EXPECT_EQ(denied.status, 422);
  EXPECT_EQ(denied.message(), R"(admission webhook "x.hooks.example.com" denied the request: not today)");
  EXPECT_EQ(denied.body.text("reason"), "Invalid");
  EXPECT_EQ(denied.body["details"]["causes"][0].text("field"), "data");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/a").status, 404);
}

TEST_F(WebhooksTest, FailurePolicyDecidesWhenItCannotBeAsked) {
  configure("validating", "a.hooks", by_url("/missing"));
  const Answer missing = make_map("a");
  EXPECT_EQ(missing.status, 500);
  EXPECT_EQ(missing.message(),
            R"(Internal error occurred: failed calling webhook "a.hooks.example.com": failed to call webhook: )"
            "the server could not find the requested resource");
  const std::string configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/";
  EXPECT_EQ(ask("DELETE", configurations + "a.hooks").status, 200);

  // Nobody vouches for it.
  json::Value stranger = by_url("/x");
  stranger["caBundle"] = base64(rt::make_ca("somebody else").cert_pem);
  configure("validating", "b.hooks", stranger, R"({"timeoutSeconds":7})");
  EXPECT_THAT(std::string(make_map("a").message()),
              HasSubstr(fmt::format(
                  R"(failed calling webhook "b.hooks.example.com": failed to call webhook: Post "{}?timeout=7s": )",
                  url("/x"))));
  EXPECT_EQ(ask("DELETE", configurations + "b.hooks").status, 200);
  configure("validating", "c.hooks", stranger, R"({"failurePolicy":"Ignore"})");
  EXPECT_EQ(make_map("a").status, 201);
}

TEST_F(WebhooksTest, IsAskedOnlyOfWhatItWants) {
  hooks_.judges["/x"] = [](const json::Value&) { return allow(); };
  configure(
      "validating", "space.hooks", by_url("/x"),
      R"({"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["default"]}]}})");
  configure("validating", "object.hooks", by_url("/x"), R"({"objectSelector":{"matchLabels":{"watched":"yes"}}})");
  configure(
      "validating", "rule.hooks", by_url("/x"),
      R"({"rules":[{"operations":["UPDATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*/*"],"scope":"Cluster"}]})");
  configure(
      "validating", "cel.hooks", by_url("/x"),
      R"({"matchConditions":[{"name":"big","expression":"object != null && has(object.data) && request.userInfo.username != ''"}]})");
  EXPECT_EQ(make_map("a").status, 201);
  EXPECT_THAT(hooks_.called, ElementsAre());
  EXPECT_EQ(merge(std::string(kMaps) + "/a", R"({"data":{"k":"v"}})").status, 200);
  EXPECT_EQ(hooks_.called.size(), 1U);
  EXPECT_EQ(merge(std::string(kMaps) + "/a", R"({"data":null,"metadata":{"labels":{"watched":"yes"}}})").status, 200);
  EXPECT_EQ(hooks_.called.size(), 2U);
  EXPECT_EQ(merge(std::string(kMaps) + "/a", R"({"metadata":{"labels":null}})").status, 200);  // it was watched
  EXPECT_EQ(hooks_.called.size(), 3U);
  EXPECT_EQ(ask("POST", "/api/v1/namespaces/kube-system/configmaps", R"({"metadata":{"name":"a"}})").status, 201);
  EXPECT_EQ(hooks_.called.size(), 4U);
  EXPECT_EQ(merge("/api/v1/namespaces/kube-system", R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  EXPECT_EQ(hooks_.called.size(), 5U);
  EXPECT_EQ(hooks_.requests.back().text("namespace"), "kube-system");
}

TEST_F(WebhooksTest, RefusesConditionsItCannotCheck) {
  const Answer bad = ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                         fmt::format(R"({{"metadata":{{"name":"x"}},"webhooks":[{{"name":"x.hooks.example.com",
      "clientConfig":{{"url":"{}"}},"sideEffects":"None","admissionReviewVersions":["v1"],
      "matchConditions":[{{"name":"a","expression":"self.x"}}]}}]}})",
                                     url("/x")));
  EXPECT_EQ(bad.status, 422);
  EXPECT_THAT(std::string(bad.message()), HasSubstr("webhooks[0].matchConditions[0].expression"));
  EXPECT_THAT(std::string(bad.message()), HasSubstr("undeclared reference to 'self'"));
}

TEST_F(WebhooksTest, IsAskedAgainWhenALaterOneChangedSomething) {
  hooks_.judges["/first"] = [](const json::Value&) { return allow(); };
  hooks_.judges["/second"] = [](const json::Value&) {
    return patch(R"([{"op":"add","path":"/data","value":{"k":"v"}}])");
  };
  configure("mutating", "a.hooks", by_url("/first"), R"({"reinvocationPolicy":"IfNeeded"})");
  configure("mutating", "b.hooks", by_url("/second"), R"({"reinvocationPolicy":"IfNeeded"})");
  EXPECT_EQ(make_map("a").status, 201);
  EXPECT_THAT(hooks_.called, ElementsAre("/first", "/second", "/first"));
}

TEST_F(WebhooksTest, FindsAServiceByItsEndpoints) {
  hooks_.judges["/x"] = [](const json::Value&) { return allow(); };
  const json::Value client =
      json::Object{{"service", json::Object{{"namespace", "default"}, {"name", "hooks"}, {"path", "/x"}}},
                   {"caBundle", base64(authority().cert_pem)}};
  configure("validating", "x.hooks", client);
  const std::string failed =
      R"(Internal error occurred: failed calling webhook "x.hooks.example.com": failed to call webhook: )"
      R"(Post "https://hooks.default.svc:443/x?timeout=10s": )";
  EXPECT_EQ(make_map("a").message(), failed + R"(service "hooks" not found)");
  ASSERT_EQ(ask("POST", "/api/v1/namespaces/default/services",
                R"({"metadata":{"name":"hooks"},"spec":{"ports":[{"name":"https","port":443,"targetPort":9443}]}})")
                .status,
            201);
  EXPECT_EQ(make_map("a").message(), failed + R"(no endpoints available for service "hooks")");
  ASSERT_EQ(ask("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                fmt::format(R"({{"metadata":{{"name":"hooks-1","labels":{{"kubernetes.io/service-name":"hooks"}}}},
                  "addressType":"IPv4","endpoints":[{{"addresses":["127.0.0.1"]}}],"ports":[{{"name":"https","port":{}}}]}})",
                            server_->port()))
                .status,
            201);
  EXPECT_EQ(make_map("a").status, 201);
}

TEST_F(WebhooksTest, ConvertsBetweenVersions) {
  hooks_.judges["/convert"] = [](const json::Value& request) {
    json::Array out = *request["objects"].as_array();
    for (json::Value& object : out) {
      const bool to_new = request.text("desiredAPIVersion") == "example.com/v2";
      const json::Value value = object["spec"][to_new ? "size" : "length"];
      object["spec"] = json::Object{{to_new ? "length" : "size", value}};
      object["apiVersion"] = request["desiredAPIVersion"];
    }
    return json::Object{{"convertedObjects", std::move(out)}, {"result", json::Object{{"status", "Success"}}}};
  };
  json::Value definition = json::parse(R"({"metadata":{"name":"toys.example.com"},"spec":{"group":"example.com",
    "scope":"Namespaced","names":{"plural":"toys","kind":"Toy"},"versions":[
    {"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{
      "spec":{"type":"object","properties":{"size":{"type":"integer"}}}}}}},
    {"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
      "spec":{"type":"object","properties":{"length":{"type":"integer"}}}}}}}],
    "conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"]}}}})")
                               .value();
  definition["spec"]["conversion"]["webhook"]["clientConfig"] = by_url("/convert");
  const Answer defined = ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json::dump(definition));
  ASSERT_EQ(defined.status, 201) << json::dump(defined.body);
  loop_.poll();
  const std::string old_toys = "/apis/example.com/v1/namespaces/default/toys";
  const std::string toys = "/apis/example.com/v2/namespaces/default/toys";
  const Answer made = ask(
      "POST", old_toys, R"({"apiVersion":"example.com/v1","kind":"Toy","metadata":{"name":"ball"},"spec":{"size":3}})");
  ASSERT_EQ(made.status, 201) << json::dump(made.body);
  EXPECT_EQ(*made.body["spec"]["size"].as_int(), 3);
  EXPECT_EQ(*ask("GET", toys + "/ball").body["spec"]["length"].as_int(), 3);
  EXPECT_EQ(*ask("GET", old_toys + "/ball").body["spec"]["size"].as_int(), 3);

  // A webhook for the new version is asked about writes of the old one, in the new one.
  hooks_.judges["/grow"] = [](const json::Value& request) {
    EXPECT_EQ(request["kind"].text("version"), "v2");
    EXPECT_EQ(request["requestKind"].text("version"), "v1");
    EXPECT_EQ(*request["oldObject"]["spec"]["length"].as_int(), 3);
    return patch(R"([{"op":"replace","path":"/spec/length","value":9}])");
  };
  configure(
      "mutating", "grow.hooks", by_url("/grow"),
      R"({"rules":[{"operations":["UPDATE"],"apiGroups":["example.com"],"apiVersions":["v2"],"resources":["toys"]}]})");
  const Answer grown = merge(old_toys + "/ball", R"({"spec":{"size":4}})");
  ASSERT_EQ(grown.status, 200) << json::dump(grown.body);
  EXPECT_EQ(*grown.body["spec"]["size"].as_int(), 9);

  hooks_.judges["/convert"] = [](const json::Value&) {
    return json::Object{{"result", json::Object{{"status", "Failure"}, {"message", "too old"}}}};
  };
  const Answer failed = ask("GET", old_toys + "/ball");
  EXPECT_EQ(failed.status, 500);
  EXPECT_TRUE(failed.message().ends_with("conversion webhook for example.com/v2, Kind=Toy failed: too old"))
      << failed.message();
}

// Never answers.
class Silent final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request) override {
    co_await rt::sleep(std::chrono::hours(1));
    co_return http::text_response(200, "{}");
  }
};

class Answering final : public http::Handler {
 public:
  Task<http::Response> handle(http::Request) override { co_return http::text_response(200, "{}"); }
};

struct Outcome {
  bool done = false;
  std::string error;
};

Task<> post(WebhookCaller* caller, WebhookTarget target, Outcome* outcome) {
  try {
    json::Value review = json::Object();
    co_await caller->post(std::move(target), std::move(review), std::chrono::seconds(10));
  } catch (const Error& error) {
    outcome->error = error.what();
  }
  outcome->done = true;
}

TEST(WebhookCaller, WaitsNoLongerThanItMay) {
  rt::Loop loop(rt::ClockMode::Manual);
  Core core(nullptr, StateOptions());
  WebhookCaller caller(core, [](http::ClientOptions) { return std::make_unique<Silent>(); });
  Outcome outcome;
  rt::Scope scope;
  scope.spawn(post(&caller, WebhookTarget{.url = "https://127.0.0.1/x"}, &outcome));
  loop.poll();
  loop.advance(std::chrono::seconds(9));
  EXPECT_FALSE(outcome.done);
  loop.advance(std::chrono::seconds(1));
  ASSERT_TRUE(outcome.done);
  EXPECT_EQ(outcome.error, R"(Post "https://127.0.0.1/x?timeout=10s": context deadline exceeded)");
}

TEST(WebhookCaller, KeepsClientsWhileTheyAreUsed) {
  rt::Loop loop(rt::ClockMode::Manual);
  Core core(nullptr, StateOptions());
  WebhookCaller caller(core, [](http::ClientOptions) { return std::make_unique<Answering>(); });
  Outcome outcome;
  const auto call = [&](std::string url) { loop.run(post(&caller, WebhookTarget{.url = std::move(url)}, &outcome)); };
  call("https://127.0.0.1/x");
  call("https://127.0.0.1/y");
  EXPECT_EQ(caller.clients(), 1U);
  loop.advance(std::chrono::minutes(1));
  call("https://127.0.0.2/x");
  EXPECT_EQ(caller.clients(), 2U);
  loop.advance(std::chrono::seconds(90));
  call("https://127.0.0.2/x");
  EXPECT_EQ(caller.clients(), 1U);
}

}  // namespace
}  // namespace kopper::plane
