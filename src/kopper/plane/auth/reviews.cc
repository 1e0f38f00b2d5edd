#include "kopper/plane/auth/reviews.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/api/gen/authentication_v1.h"
#include "kopper/plane/body.h"
#include "kopper/plane/ownership.h"

namespace kopper::plane {
namespace {

constexpr const char* kAuthorization = "authorization.k8s.io";
constexpr const char* kAuthentication = "authentication.k8s.io";

json::Array to_array(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

Task<http::Response> now(http::Response response) { co_return response; }

std::vector<std::string> texts(const json::Value& list) {
  std::vector<std::string> out;
  if (const json::Array* all = list.as_array())
    for (const json::Value& one : *all)
      if (const std::string* text = one.as_string()) out.push_back(*text);
  return out;
}

void only_create(const Call& call) {
  if (call.info.verb != "create" || (!call.info.name.empty() && call.info.subresource.empty()))
    throw Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

// The question as it was asked, with its managedFields.
json::Value question(const Core& core, Call& call) {
  only_create(call);
  json::Value object = read_object(call, *call.resource);
  if (!object["metadata"].is_object()) object["metadata"] = json::Object();
  const std::string given(object["metadata"].text("namespace"));
  if (!call.resource->namespaced) {
    object["metadata"].as_object()->erase("namespace");
  } else if (!given.empty() && given != call.info.namespace_) {
    throw bad_request("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (!object["spec"].is_object()) object["spec"] = json::Object();
  track_update(*call.resource, nullptr, object, {.name = call.manager(), .subresource = "", .now = core.now()});
  return object;
}

json::Object user_json(const User& user) {
  json::Object out;
  if (!user.name.empty()) out["username"] = user.name;
  if (!user.uid.empty()) out["uid"] = user.uid;
  if (!user.groups.empty()) out["groups"] = to_array(user.groups);
  if (!user.extra.empty()) {
    json::Object extra;
    for (const auto& [key, values] : user.extra) extra[key] = to_array(values);
    out["extra"] = std::move(extra);
  }
  return out;
}

http::Response token_review(Core& core, Auth& auth, Call& call) {
  json::Value review = question(core, call);
  const std::string token(review["spec"].text("token"));
  if (token.empty()) throw bad_request("token is required for TokenReview in authentication");
  const auto found = auth.token_user(token, texts(std::as_const(review)["spec"]["audiences"]));
  json::Object status;
  if (found) {
    status["authenticated"] = true;
    status["user"] = user_json(found->user);
    status["audiences"] = to_array(found->audiences);
  } else {
    status["user"] = json::Object();
    status["error"] = found.error();
  }
  review["status"] = std::move(status);
  return answer(call, 201, review);
}

http::Response self_subject_review(Core& core, Call& call) {
  json::Value review = question(core, call);
  review.as_object()->erase("spec");
  review["metadata"] = json::Object{{"creationTimestamp", core.now().str()}};
  review["status"] = json::Object{{"userInfo", user_json(call.user)}};
  return answer(call, 201, review);
}

// ---- authorization ----

Action action_of_review(const json::Value& spec) {
  Action out;
  const json::Value& resource = spec["resourceAttributes"];
  out.is_resource = resource.is_object();
  const json::Value& from = out.is_resource ? resource : spec["nonResourceAttributes"];
  out.verb = from.text("verb");
  out.path = from.text("path");
  out.group = from.text("group");
  out.resource = from.text("resource");
  out.subresource = from.text("subresource");
  out.namespace_ = from.text("namespace");
  out.name = from.text("name");
  return out;
}

// As the real server prints what has no names in JSON.
json::Value path_attributes(const json::Value& value) {
  if (!value.is_object()) return {};
  return json::Object{{"Path", value.text("path")}, {"Verb", value.text("verb")}};
}

void check_access_review(const Call& call, const json::Value& review, bool of_somebody) {
  const json::Value& spec = review["spec"];
  const json::Value& path = spec["nonResourceAttributes"];
  Problems problems;
  if (spec["resourceAttributes"].is_object() == path.is_object())
    problems.invalid("spec", path_attributes(path),
                     "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  if (of_somebody && spec.text("user").empty() && texts(spec["groups"]).empty())
    problems.invalid("spec.user", "", "at least one of user or group must be specified");
  const bool local = call.resource->namespaced;
  json::Object rest = *review["metadata"].as_object();
  rest.erase("managedFields");
  if (local) rest.erase("namespace");
  if (!rest.empty())
    problems.invalid("metadata", review["metadata"], local ? "must be empty except for namespace" : "must be empty");
  if (local) {
    const std::string_view in = spec["resourceAttributes"].text("namespace");
    if (spec["resourceAttributes"].is_object() && in != call.info.namespace_)
      problems.invalid("spec.resourceAttributes.namespace", in, "must match metadata.namespace");
    if (path.is_object())
      problems.invalid("spec.nonResourceAttributes", path_attributes(path), "disallowed on this kind of request");
  }
  if (!problems.empty()) throw invalid(kAuthorization, "", "", problems);
}

http::Response decided(const Auth& auth, const Call& call, json::Value review, const User& user) {
  const Authorizer::Decision decision = auth.authorizer().decide(user, action_of_review(std::as_const(review)["spec"]));
  json::Object status{{"allowed", decision.allowed}};
  if (!decision.reason.empty()) status["reason"] = decision.reason;
  review["status"] = std::move(status);
  return answer(call, 201, review);
}

http::Response access_review(Core& core, const Auth& auth, Call& call) {
  json::Value review = question(core, call);
  if (call.resource->namespaced) review["metadata"]["namespace"] = call.info.namespace_;
  check_access_review(call, review, true);
  const json::Value& spec = std::as_const(review)["spec"];
  User user;
  user.name = spec.text("user");
  user.uid = spec.text("uid");
  user.groups = texts(spec["groups"]);
  return decided(auth, call, std::move(review), user);
}

http::Response self_access_review(Core& core, const Auth& auth, Call& call) {
  json::Value review = question(core, call);
  check_access_review(call, review, false);
  return decided(auth, call, std::move(review), call.user);
}

http::Response rules_review(Core& core, const Auth& auth, Call& call) {
  json::Value review = question(core, call);
  const std::string in(review["spec"].text("namespace"));
  if (in.empty()) throw bad_request("no namespace on request");
  const Authorizer::Rules found = auth.authorizer().rules_for(call.user, in);
  json::Array resources;
  json::Array paths;
  for (const PolicyRule& rule : found.rules) {
    if (!rule.resources.empty()) resources.push_back(to_json(rule));
    if (!rule.urls.empty()) paths.push_back(to_json(rule));
  }
  json::Object status{
      {"resourceRules", std::move(resources)}, {"nonResourceRules", std::move(paths)}, {"incomplete", false}};
  if (!found.error.empty()) status["evaluationError"] = found.error;
  review["metadata"] = json::Object();
  review["spec"] = json::Object();
  review["status"] = std::move(status);
  return answer(call, 201, review);
}

// ---- serviceaccounts/token ----

constexpr std::int64_t kShortest = 600;
constexpr std::int64_t kLongest = std::int64_t{1} << 32U;
constexpr std::int64_t kOfPods = 3607;  // what pods ask for: their token counts for a year, with a warning
constexpr std::int64_t kExtended = 31'536'000;

std::shared_ptr<const Resource> token_request_resource(Catalog& catalog) {
  const meta::Type& type = meta::type_of<api::authenticationv1::TokenRequest>();
  auto out = std::make_shared<Resource>();
  out->group = kAuthentication;
  out->version = "v1";
  out->kind = "TokenRequest";
  out->plural = "tokenrequests";
  out->schema = &catalog.schemas().of(type);
  out->type = &type;
  return out;
}

StoredRef must_find(Core& core, const char* table, const std::string& ns, const std::string& name) {
  StoredRef found = core.state.table(table).find(ns, name);
  if (!found) throw not_found({.group = "", .resource = table}, name);
  return found;
}

// Fills in what the token is bound to.
void bind_to(Core& core, const json::Value& ref, AccountClaims& claims) {
  const std::string_view version = ref.text("apiVersion");
  const std::string_view kind = ref.text("kind");
  const std::string name(ref.text("name"));
  const bool is_core = version.find('/') == std::string_view::npos;
  if (!is_core || (kind != "Pod" && kind != "Secret" && kind != "Node"))
    throw bad_request(
        fmt::format("cannot bind token to object of type {}{}, Kind={}", is_core ? "/" : "", version, kind));
  if (name.empty()) throw bad_request("Name parameter required.");
  const std::string& ns = claims.namespace_;
  const StoredRef object = kind == "Pod"      ? must_find(core, "pods", ns, name)
                           : kind == "Secret" ? must_find(core, "secrets", ns, name)
                                              : must_find(core, "nodes", "", name);
  const AccountClaims::Ref bound{.name = name, .uid = object->uid};
  if (kind == "Secret") claims.secret = bound;
  if (kind == "Node") claims.node = bound;
  if (kind == "Pod") {
    claims.pod = bound;
    const json::Value pod = object->value();
    if (pod["spec"].text("serviceAccountName") != claims.account.name)
      throw bad_request(
          fmt::format("cannot bind token for serviceaccount \"{}\" to pod running with different serviceaccount name.",
                      claims.account.name));
    if (const std::string node(pod["spec"].text("nodeName")); !node.empty()) {
      const StoredRef found = core.state.table("nodes").find("", node);
      claims.node = AccountClaims::Ref{.name = node, .uid = found ? found->uid : ""};
    }
  }
  const std::string_view uid = ref.text("uid");
  if (!uid.empty() && uid != object->uid)
    throw conflict({.group = "", .resource = kind}, name,
                   fmt::format("the UID in the bound object reference ({}) does not match the UID in record. The "
                               "object might have been deleted and then recreated",
                               uid));
}

void check_token_request(const json::Value& spec) {
  const std::int64_t lifetime = *spec["expirationSeconds"].as_int();
  Problems problems;
  if (lifetime < kShortest)
    problems.invalid("spec.expirationSeconds", lifetime, "may not specify a duration less than 10 minutes");
  if (lifetime > kLongest)
    problems.invalid("spec.expirationSeconds", lifetime, "may not specify a duration larger than 2^32 seconds");
  if (!problems.empty()) throw invalid(kAuthentication, "TokenRequest", "", problems);
}

http::Response token_request(Core& core, Auth& auth, const Resource& resource, Call& call) {
  only_create(call);
  json::Value request = read_object(call, resource);
  const std::string& ns = call.info.namespace_;
  const std::string& name = call.info.name;
  json::Value& metadata = request["metadata"];
  if (!metadata.is_object()) metadata = json::Object();
  if (!metadata.text("namespace").empty() && metadata.text("namespace") != ns)
    throw bad_request("the namespace of the provided object does not match the namespace sent on the request");
  must_find(core, "namespaces", "", ns);
  if (!metadata.text("name").empty() && metadata.text("name") != name) {
    Problems problems;
    problems.invalid("metadata.name", metadata.text("name"), "must match the service account name if specified");
    throw invalid(kAuthentication, "TokenRequest", name, problems);
  }
  const StoredRef account = must_find(core, "serviceaccounts", ns, name);
  if (const std::string_view uid = metadata.text("uid"); !uid.empty() && uid != account->uid)
    throw conflict({.group = kAuthentication, .resource = "TokenRequest"}, name,
                   fmt::format("the UID in the token request ({}) does not match the UID of the service account ({})",
                               uid, account->uid));

  json::Value& spec = request["spec"];
  if (!spec.is_object()) spec = json::Object();
  if (spec["expirationSeconds"].as_int() == nullptr) spec["expirationSeconds"] = 3600;
  check_token_request(spec);
  track_update(resource, nullptr, request,
               {.name = call.manager(), .subresource = call.info.subresource, .now = core.now()});
  const std::vector<std::string>& own = auth.account_tokens().audiences();
  if (texts(spec["audiences"]).empty()) spec["audiences"] = to_array(own);
  if (!spec["boundObjectRef"].is_object()) spec["boundObjectRef"] = nullptr;

  const auto now = core.now().point();
  const std::int64_t lifetime = *spec["expirationSeconds"].as_int();
  AccountClaims claims;
  claims.subject = fmt::format("system:serviceaccount:{}:{}", ns, name);
  claims.namespace_ = ns;
  claims.account = {.name = name, .uid = account->uid};
  claims.audiences = texts(spec["audiences"]);
  claims.issued = now.time_since_epoch().count();
  claims.not_before = claims.issued;
  claims.expires = claims.issued + lifetime;
  if (spec["boundObjectRef"].is_object()) bind_to(core, spec["boundObjectRef"], claims);
  const bool for_us = std::ranges::all_of(
      claims.audiences, [&](const std::string& one) { return std::ranges::find(own, one) != own.end(); });
  if (claims.pod && lifetime == kOfPods && for_us) {
    claims.warn_after = claims.expires;
    claims.expires = claims.issued + kExtended;
  }
  metadata["name"] = name;
  metadata["namespace"] = ns;
  metadata["uid"] = account->uid;
  metadata["creationTimestamp"] = core.now().str();
  request["status"] = json::Object{{"token", auth.account_tokens().issue(std::move(claims))},
                                   {"expirationTimestamp", api::Time(now + std::chrono::seconds(lifetime)).str()}};
  return answer(call, 201, request);
}

}  // namespace

void serve_reviews(Plane& plane, Auth& auth) {
  const auto serve = [&](const char* what, auto reply) {
    plane.serve(what, [reply](Core& core, Call& call) { return now(reply(core, call)); });
  };
  serve("authentication.k8s.io/tokenreviews",
        [&auth](Core& core, Call& call) { return token_review(core, auth, call); });
  serve("authentication.k8s.io/selfsubjectreviews",
        [](Core& core, Call& call) { return self_subject_review(core, call); });
  for (const char* what :
       {"authorization.k8s.io/subjectaccessreviews", "authorization.k8s.io/localsubjectaccessreviews"})
    serve(what, [&auth](Core& core, Call& call) { return access_review(core, auth, call); });
  serve("authorization.k8s.io/selfsubjectaccessreviews",
        [&auth](Core& core, Call& call) { return self_access_review(core, auth, call); });
  serve("authorization.k8s.io/selfsubjectrulesreviews",
        [&auth](Core& core, Call& call) { return rules_review(core, auth, call); });
  serve("serviceaccounts/token", [&auth, resource = token_request_resource(plane.core().catalog)](
                                     Core& core, Call& call) { return token_request(core, auth, *resource, call); });
}

std::optional<http::Response> issuer_document(Auth& auth, const Call& call) {
  if (call.info.verb != "get") return std::nullopt;
  if (call.info.path == "/.well-known/openid-configuration")
    return http::text_response(200, json::dump(auth.account_tokens().discovery()), "application/json");
  if (call.info.path == "/openid/v1/jwks")
    return http::text_response(200, json::dump(auth.account_tokens().keys()), "application/jwk-set+json");
  return std::nullopt;
}

}  // namespace kopper::plane
