#include "kopper/runtime/webhook_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/json/patch.h"
#include "kopper/meta/base64.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::runtime {
namespace {

using ::testing::HasSubstr;

struct CacheSpec {
  int32_t size = 1;
  std::string image;
};
struct Cache {
  static constexpr Kind kind{"cache.example.com", "v1alpha1", "Cache"};
  ObjectMeta metadata;
  CacheSpec spec;
};

constexpr auto kMutate = "/mutate-cache-example-com-v1alpha1-cache";
constexpr auto kValidate = "/validate-cache-example-com-v1alpha1-cache";

Verdict judge(const Admission<Cache>& request) {
  if (request.user.username == "mallory") return Verdict::deny("not you");
  Verdict verdict;
  if (request.object.spec.size % 2 == 0) verdict.refuse("spec.size", "must be odd");
  if (request.old && request.old->spec.image != request.object.spec.image) verdict.refuse("spec.image", "is immutable");
  if (request.object.spec.size > 7) verdict.warn("this is large");
  if (request.object.spec.image == "boom") throw std::runtime_error("boom");
  return verdict;
}

Webhooks two_hooks() {
  return webhooks()
      .defaulting<Cache>([](Cache& cache) {
        if (cache.spec.image.empty()) cache.spec.image = "memcached:1.6";
      })
      .validating<Cache>(judge);
}

std::string review(const std::string& object, const std::string& old = "null", const std::string& operation = "CREATE",
                   const std::string& user = "alice") {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",
    "kind":{"group":"cache.example.com","version":"v1alpha1","kind":"Cache"},
    "resource":{"group":"cache.example.com","version":"v1alpha1","resource":"caches"},
    "name":"a","namespace":"demo","operation":")" +
         operation + R"(","userInfo":{"username":")" + user + R"("},"dryRun":true,"options":{"kind":"CreateOptions"},
    "object":)" +
         object + R"(,"oldObject":)" + old + "}}";
}

std::string cache(const std::string& spec, const std::string& metadata = R"("name":"a")") {
  return R"({"apiVersion":"cache.example.com/v1alpha1","kind":"Cache","metadata":{)" + metadata + R"(},"spec":{)" +
         spec + "}}";
}

struct Handled {
  int status = 0;
  std::string body;
  json::Value response() const { return json::parse(body).value()["response"]; }
};

Task<Handled> ask(http::Handler* handler, std::string target, std::string body, std::string method) {
  http::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  Handled handled;
  try {
    auto response = co_await handler->handle(std::move(request));
    handled.status = response.status;
    handled.body = co_await http::read_all(*response.body);
  } catch (const Error& error) {
    handled.status = error.http_status;
    handled.body = error.what();
  }
  co_return handled;
}

class WebhookHandlerTest : public ::testing::Test {
 protected:
  Handled post(const std::string& target, const std::string& body, const std::string& method = "POST") {
    return loop.run(ask(&handler, target, body, method));
  }
  std::string patch(const json::Value& response) {
    return meta::from_base64(response.text("patch")).value_or("not base64");
  }

  rt::Loop loop{rt::ClockMode::Manual};
  metrics::Registry registry;
  WebhookHandler handler{two_hooks(), &registry};
};

TEST_F(WebhookHandlerTest, DefaultsByAPatchOfWhatChanged) {
  const auto response = post(kMutate, review(cache(R"("foreign":{"a":1})"))).response();
  EXPECT_EQ(response.text("uid"), "u-1");
  EXPECT_EQ(*response["allowed"].as_bool(), true);
  EXPECT_EQ(response.text("patchType"), "JSONPatch");
  EXPECT_EQ(patch(response), R"([{"op":"add","path":"/spec/image","value":"memcached:1.6"}])");
}

TEST_F(WebhookHandlerTest, SendsNoPatchWhenNothingChanged) {
  const auto response = post(kMutate, review(cache(R"("image":"other","foreign":1)"))).response();
  EXPECT_EQ(response, json::parse(R"({"uid":"u-1","allowed":true})").value());
}

TEST_F(WebhookHandlerTest, Allows) {
  const auto handled = post(std::string(kValidate) + "?timeout=10s", review(cache(R"("size":3)")));
  EXPECT_EQ(handled.status, 200);
  EXPECT_EQ(json::parse(handled.body).value(),
            json::parse(R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
                            "response":{"uid":"u-1","allowed":true}})")
                .value());
}

TEST_F(WebhookHandlerTest, DeniesWithFieldsAndWarnings) {
  const auto response =
      post(kValidate, review(cache(R"("size":8,"image":"b")"), cache(R"("size":9,"image":"a")"), "UPDATE")).response();
  EXPECT_EQ(*response["allowed"].as_bool(), false);
  EXPECT_EQ(response["status"], json::parse(R"({"status":"Failure","reason":"Invalid","code":422,
      "message":"spec.size: must be odd; spec.image: is immutable",
      "details":{"name":"a","group":"cache.example.com","kind":"Cache","causes":[{"reason":"FieldValueInvalid","message":"must be odd","field":"spec.size"},
                           {"reason":"FieldValueInvalid","message":"is immutable","field":"spec.image"}]}})")
                                    .value());
  EXPECT_EQ(json::dump(response["warnings"]), R"(["this is large"])");
}

TEST_F(WebhookHandlerTest, DeniesByUser) {
  const auto response = post(kValidate, review(cache(""), "null", "CREATE", "mallory")).response();
  EXPECT_EQ(response["status"].text("message"), "not you");
  EXPECT_EQ(*response["status"]["code"].as_int(), 403);
}

TEST_F(WebhookHandlerTest, GivesWhatIsDeletedToAValidator) {
  const auto response = post(kValidate, review("null", cache(R"("size":2)"), "DELETE")).response();
  EXPECT_EQ(response["status"].text("message"), "spec.size: must be odd");
}

TEST_F(WebhookHandlerTest, RefusesAnObjectThatDoesNotDecode) {
  for (const auto* path : {kMutate, kValidate}) {
    const auto response = post(path, review(cache(R"("size":"three")"))).response();
    EXPECT_EQ(*response["allowed"].as_bool(), false);
    EXPECT_EQ(*response["status"]["code"].as_int(), 422);
    EXPECT_THAT(std::string(response["status"].text("message")), HasSubstr("spec.size: expected an integer"));
    EXPECT_EQ(response["status"]["details"]["causes"][0].text("field"), "spec.size");
  }
}

TEST_F(WebhookHandlerTest, LetsFinalizersGoFromAnObjectThatDoesNotDecode) {
  const auto dying = cache(R"("size":"three")", R"("name":"a","deletionTimestamp":"2026-01-01T00:00:00Z")");
  EXPECT_TRUE(*post(kValidate, review(dying, dying, "UPDATE")).response()["allowed"].as_bool());
  EXPECT_TRUE(*post(kMutate, review(dying, dying, "UPDATE")).response()["allowed"].as_bool());
}

TEST_F(WebhookHandlerTest, LetsAnUpdateRepairWhatDoesNotDecode) {
  const auto response = post(kValidate, review(cache(R"("size":3)"), cache(R"("size":"three")"), "UPDATE")).response();
  EXPECT_TRUE(*response["allowed"].as_bool());
}

TEST_F(WebhookHandlerTest, ContainsExceptions) {
  const auto handled = post(kValidate, review(cache(R"("image":"boom")")));
  EXPECT_EQ(handled.status, 200);
  EXPECT_EQ(*handled.response()["status"]["code"].as_int(), 500);
  EXPECT_EQ(handled.response()["status"].text("message"), "the webhook failed: boom");
  EXPECT_EQ(handled.response().text("uid"), "u-1");
}

TEST_F(WebhookHandlerTest, SpeaksTheOldVersionToo) {
  auto old = review(cache(""));
  old.replace(old.find("k8s.io/v1"), 9, "k8s.io/v1beta1");
  EXPECT_EQ(json::parse(post(kValidate, old).body).value().text("apiVersion"), "admission.k8s.io/v1beta1");
}

TEST_F(WebhookHandlerTest, RefusesWhatIsNoReview) {
  EXPECT_EQ(post("/other", review(cache(""))).status, 404);
  EXPECT_EQ(post("/convert", "{}").status, 404);
  EXPECT_EQ(post(kValidate, "", "GET").status, 405);
  EXPECT_EQ(post(kValidate, std::string(WebhookHandler::kMaxBody + 1, ' ')).status, 413);
  for (const auto* body :
       {"", "nonsense", "[]", "{}", R"({"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview"})",
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})",
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u"}})",
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":7}})"})
    EXPECT_EQ(post(kValidate, body).status, 400) << body;
}

TEST_F(WebhookHandlerTest, CountsRequests) {
  post(kValidate, review(cache("")));
  post(kValidate, "{}");
  post("/scanned", "{}");
  const auto text = registry.text();
  EXPECT_THAT(text, HasSubstr(R"(controller_runtime_webhook_requests_total{code="200",webhook=")" +
                              std::string(kValidate) + "\"} 1"));
  EXPECT_THAT(text, HasSubstr(R"(controller_runtime_webhook_requests_total{code="400",webhook=")" +
                              std::string(kValidate) + "\"} 1"));
  EXPECT_THAT(
      text, HasSubstr(R"(controller_runtime_webhook_requests_in_flight{webhook=")" + std::string(kValidate) + "\"} 0"));
  EXPECT_THAT(text, HasSubstr("controller_runtime_webhook_latency_seconds_count"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("scanned")));
}

Task<Verdict> judge_later(Admission<Cache> request) {
  co_await rt::sleep(std::chrono::seconds(1));
  co_return request.dry_run ? Verdict::allow() : Verdict::deny("only a rehearsal");
}

Task<Cache> default_later(Admission<Cache> request) {
  co_await rt::sleep(std::chrono::seconds(1));
  request.object.spec.size = 5;
  co_return std::move(request.object);
}

Task<> keep(Task<Handled> task, std::optional<Handled>* result) { *result = co_await task; }

TEST(Webhooks, MayWait) {
  rt::Loop loop(rt::ClockMode::Manual);
  WebhookHandler handler(webhooks().defaulting<Cache>(default_later).validating<Cache>(judge_later));
  std::optional<Handled> defaulted, judged;
  rt::Scope scope;
  scope.spawn(keep(ask(&handler, kMutate, review(cache("")), "POST"), &defaulted));
  scope.spawn(keep(ask(&handler, kValidate, review(cache("")), "POST"), &judged));
  loop.poll();
  EXPECT_FALSE(defaulted || judged);
  loop.advance(std::chrono::seconds(1));
  ASSERT_TRUE(defaulted && judged);
  EXPECT_EQ(meta::from_base64(defaulted->response().text("patch")), R"([{"op":"add","path":"/spec/size","value":5}])");
  EXPECT_TRUE(*judged->response()["allowed"].as_bool());
}

TEST(Webhooks, TellWhoAsks) {
  rt::Loop loop(rt::ClockMode::Manual);
  AdmissionInfo seen;
  WebhookHandler handler(webhooks().defaulting<Cache>([&seen](Cache&, const AdmissionInfo& info) { seen = info; }));
  const auto done = loop.run(ask(&handler, kMutate, review(cache(""), cache(""), "UPDATE"), "POST"));
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(seen.uid, "u-1");
  EXPECT_EQ(seen.operation, Operation::Update);
  EXPECT_EQ(seen.key, Key("demo", "a"));
  EXPECT_EQ(seen.user.username, "alice");
  EXPECT_TRUE(seen.dry_run);
  EXPECT_EQ(seen.options.text("kind"), "CreateOptions");
}

TEST(Webhooks, AreTakenBackByKind) {
  auto hooks = two_hooks();
  constexpr Kind other{"cache.example.com", "v1", "Other"};
  hooks.drop(other);
  EXPECT_EQ(hooks.hooks().size(), 2U);
  hooks.drop(Cache::kind);
  EXPECT_TRUE(hooks.empty());
}

TEST(Webhooks, AreRegisteredOnce) {
  auto hooks = two_hooks();
  EXPECT_THROW(hooks.validating<Cache>(judge), Error);
}

}  // namespace
}  // namespace kopper::runtime
