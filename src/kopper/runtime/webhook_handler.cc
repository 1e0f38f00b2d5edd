#include "kopper/runtime/webhook_handler.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include <fmt/format.h>

#include "kopper/api/gen/admission_v1.h"
#include "kopper/base/log.h"
#include "kopper/meta/base64.h"
#include "kopper/rt/loop.h"
#include "kopper/runtime/webhook_patch.h"

namespace kopper::runtime {

namespace {

using api::admissionv1::AdmissionRequest;

constexpr std::string_view kConvertPath = "/convert";
const std::vector<double> kLatencyBuckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

// A request that makes no sense: the API server gets an HTTP error and goes by the failure policy.
Error bad_request(int status, std::string message) {
  Error error(Code::Invalid, std::move(message));
  error.http_status = status;
  return error;
}

AdmissionInfo info_of(const AdmissionRequest& request) {
  AdmissionInfo info;
  info.uid = request.uid;
  for (const auto operation : {Operation::Create, Operation::Update, Operation::Delete, Operation::Connect})
    if (to_string(operation) == request.operation) info.operation = operation;
  info.key = Key(request.namespace_, request.name);
  info.subresource = request.subResource;
  info.dry_run = request.dryRun.value_or(false);
  info.user = request.userInfo;
  info.options = request.options;
  return info;
}

json::Object allowed() { return {{"allowed", true}}; }

json::Object refused(int code, std::string_view reason, std::string message) {
  return {{"allowed", false},
          {"status",
           json::Object{{"status", "Failure"}, {"message", std::move(message)}, {"reason", reason}, {"code", code}}}};
}

// With the details of the server's own validation, so that clients show it in the same way: The Cache "a" is invalid: …
json::Object invalid(const Hook& hook, const Key& key, std::string message, const std::vector<Cause>& causes) {
  json::Array list;
  for (const auto& cause : causes)
    list.emplace_back(json::Object{{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  auto out = refused(422, "Invalid", std::move(message));
  out["status"]["details"] = json::Object{
      {"name", key.name}, {"group", hook.kind->group}, {"kind", hook.kind->kind}, {"causes", std::move(list)}};
  return out;
}

json::Object patched(const json::Value& object, const detail::HookResult& result) {
  auto response = allowed();
  if (result.before == result.after) return response;
  const auto before = json::parse(result.before);
  const auto after = json::parse(result.after);
  if (!before || !after) throw_error(before ? after.error() : before.error(), "the changed object");
  auto operations = patch_of(object, *before, *after);
  if (operations.empty()) return response;
  std::string patch;
  meta::append_base64(patch, json::dump(std::move(operations)));
  response["patchType"] = "JSONPatch";
  response["patch"] = std::move(patch);
  return response;
}

json::Object judged(const Hook& hook, const Key& key, const Verdict& verdict) {
  if (verdict.allowed()) return allowed();
  if (verdict.causes().empty()) return refused(403, "Forbidden", verdict.message());
  return invalid(hook, key, verdict.message(), verdict.causes());
}

json::Object answer_of(const Hook& hook, const Key& key, const json::Value& object,
                       const std::expected<detail::HookResult, DecodeError>& result) {
  if (!result) {
    if (object["metadata"]["deletionTimestamp"].is_string()) return allowed();
    const auto& error = result.error();
    return invalid(hook, key, error.str(),
                   {{.field = error.path, .reason = "FieldValueInvalid", .message = error.what}});
  }
  auto response = hook.type == Hook::Type::Defaulting ? patched(object, *result) : judged(hook, key, result->verdict);
  if (!result->verdict.warnings().empty()) {
    json::Array warnings(result->verdict.warnings().begin(), result->verdict.warnings().end());
    response["warnings"] = std::move(warnings);
  }
  return response;
}

Task<json::Object> run(const Hook* hook, AdmissionRequest request) {
  auto info = info_of(request);
  const bool deleting = request.object.is_null();
  const json::Value object = std::move(deleting ? request.oldObject : request.object);
  auto old = deleting || request.oldObject.is_null() ? std::string() : json::dump(request.oldObject);
  const auto key = info.key;
  try {
    const auto result = co_await hook->run(std::move(info), json::dump(object), std::move(old));
    co_return answer_of(*hook, key, object, result);
  } catch (const std::exception& error) {
    log::error("webhook failed", {{"webhook", hook->path}, {"object", key.str()}, {"error", error.what()}});
    co_return refused(500, "InternalError", fmt::format("the webhook failed: {}", error.what()));
  }
}

http::Response json_response(const json::Value& value) {
  return http::text_response(200, json::dump(value), "application/json");
}

// Counts a request for as long as it lives.
class InFlight {
 public:
  explicit InFlight(metrics::Gauge* gauge) : gauge_(gauge) { gauge_->inc(); }
  ~InFlight() { gauge_->dec(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  metrics::Gauge* gauge_;
};

}  // namespace

WebhookHandler::WebhookHandler(Webhooks webhooks, metrics::Registry* metrics)
    : webhooks_(std::move(webhooks)), metrics_(metrics) {}

Task<http::Response> WebhookHandler::handle(http::Request request) {
  auto path = request.target.substr(0, request.target.find('?'));
  Meters* meter = meters(path);
  if (meter == nullptr) co_return co_await answer(std::move(request), std::move(path));

  const InFlight in_flight(meter->in_flight);
  const auto began = rt::Loop::current().now();
  http::Response response;
  try {
    response = co_await answer(std::move(request), path);
  } catch (const Error& error) {
    response = http::text_response(error.http_status, error.what());
  }
  meter->latency->observe(std::chrono::duration<double>(rt::Loop::current().now() - began).count());
  auto*& counter = meter->requests[response.status];
  if (counter == nullptr)
    counter = &metrics_->counter("controller_runtime_webhook_requests_total",
                                 "Total number of admission requests by HTTP status code.",
                                 {{"webhook", path}, {"code", std::to_string(response.status)}});
  counter->inc();
  co_return response;
}

Task<http::Response> WebhookHandler::answer(http::Request request, std::string path) {
  const auto hook = std::ranges::find(webhooks_.hooks(), path, &Hook::path);
  const bool convert = path == kConvertPath && !webhooks_.conversions().empty();
  if (hook == webhooks_.hooks().end() && !convert) throw bad_request(404, fmt::format("no webhook at {}", path));
  if (request.method != "POST") throw bad_request(405, "only POST");
  if (request.body.size() > kMaxBody) throw bad_request(413, fmt::format("more than {} bytes", kMaxBody));
  auto review = json::parse(request.body);
  if (!review) throw bad_request(400, fmt::format("the review: {}", review.error().str()));
  if (convert) {
    auto answered = answer_conversion(*review, webhooks_.conversions());
    if (!answered) throw bad_request(400, answered.error());
    co_return json_response(*answered);
  }
  const auto answered = co_await admit(&*hook, std::move(*review));
  co_return json_response(answered);
}

Task<json::Value> WebhookHandler::admit(const Hook* hook, json::Value review) {
  const std::string api_version(review.text("apiVersion"));
  if (review.text("kind") != "AdmissionReview" ||
      (api_version != "admission.k8s.io/v1" && api_version != "admission.k8s.io/v1beta1"))
    throw bad_request(400, "not an AdmissionReview of admission.k8s.io/v1 or v1beta1");
  auto request = meta::from_value<AdmissionRequest>(review["request"]);
  if (!request) throw bad_request(400, fmt::format("the request of the review: {}", request.error().str()));
  if (request->uid.empty()) throw bad_request(400, "a review without request.uid");
  if (request->object.is_null() && request->oldObject.is_null())
    throw bad_request(400, "a review without object and oldObject");
  const auto uid = request->uid;
  auto response = co_await run(hook, std::move(*request));
  response["uid"] = uid;
  co_return json::Object{{"apiVersion", api_version}, {"kind", "AdmissionReview"}, {"response", std::move(response)}};
}

WebhookHandler::Meters* WebhookHandler::meters(const std::string& path) {
  if (metrics_ == nullptr) return nullptr;
  if (const auto found = meters_.find(path); found != meters_.end()) return &found->second;
  // Anybody may ask for anything: only what is served gets a series.
  const bool served = std::ranges::find(webhooks_.hooks(), path, &Hook::path) != webhooks_.hooks().end() ||
                      (path == kConvertPath && !webhooks_.conversions().empty());
  if (!served) return nullptr;
  Meters made;
  made.latency = &metrics_->histogram("controller_runtime_webhook_latency_seconds",
                                      "Histogram of the latency of processing admission requests", kLatencyBuckets,
                                      {{"webhook", path}});
  made.in_flight = &metrics_->gauge("controller_runtime_webhook_requests_in_flight",
                                    "Current number of admission requests being served.", {{"webhook", path}});
  return &meters_.emplace(path, std::move(made)).first->second;
}

}  // namespace kopper::runtime
