#include "kopper/plane/auth/account_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/auth/jwt.h"
#include "kopper/plane/auth/rbac.h"

namespace kopper::plane {
namespace {

constexpr std::size_t kKnown = 1000;  // tokens whose signature need not be verified again
constexpr std::int64_t kLeeway = 60;  // seconds by which clocks may differ
constexpr const char* kAlgorithm = "ES256";

std::vector<std::string> audience_list(const json::Value& value) {
  std::vector<std::string> out;
  if (const std::string* one = value.as_string()) out.push_back(*one);
  if (const json::Array* all = value.as_array())
    for (const json::Value& one : *all)
      if (const std::string* text = one.as_string()) out.push_back(*text);
  return out;
}

std::optional<AccountClaims::Ref> ref_of(const json::Value& value) {
  if (!value.is_object()) return std::nullopt;
  return AccountClaims::Ref{.name = std::string(value.text("name")), .uid = std::string(value.text("uid"))};
}

json::Object to_object(const AccountClaims::Ref& ref) {
  json::Object out{{"name", ref.name}};
  if (!ref.uid.empty()) out["uid"] = ref.uid;
  return out;
}

std::int64_t seconds(const json::Value& value) {
  if (const std::int64_t* number = value.as_int()) return *number;
  return 0;
}

// On its way out for longer than clocks may differ.
bool gone(const Stored& object, std::int64_t now) {
  if (!object.deleting) return false;
  const json::Value value = object.value();
  const auto time = api::Time::parse(value["metadata"].text("deletionTimestamp"));
  return time && time->point().time_since_epoch().count() < now - kLeeway;
}

}  // namespace

json::Value AccountClaims::to_json() const {
  json::Object kubernetes{{"namespace", namespace_}};
  if (node) kubernetes["node"] = to_object(*node);
  if (pod) kubernetes["pod"] = to_object(*pod);
  if (secret) kubernetes["secret"] = to_object(*secret);
  kubernetes["serviceaccount"] = to_object(account);
  if (warn_after) kubernetes["warnafter"] = *warn_after;
  return json::Object{{"aud", json::Array(audiences.begin(), audiences.end())},
                      {"exp", expires},
                      {"iat", issued},
                      {"iss", issuer},
                      {"jti", id},
                      {"kubernetes.io", std::move(kubernetes)},
                      {"nbf", not_before},
                      {"sub", subject}};
}

AccountClaims AccountClaims::of(const json::Value& claims) {
  AccountClaims out;
  out.issuer = claims.text("iss");
  out.subject = claims.text("sub");
  out.id = claims.text("jti");
  out.audiences = audience_list(claims["aud"]);
  out.expires = seconds(claims["exp"]);
  out.not_before = seconds(claims["nbf"]);
  out.issued = seconds(claims["iat"]);
  const json::Value& kubernetes = claims["kubernetes.io"];
  if (const std::int64_t* number = kubernetes["warnafter"].as_int()) out.warn_after = *number;
  out.namespace_ = kubernetes.text("namespace");
  out.account = ref_of(kubernetes["serviceaccount"]).value_or(Ref());
  out.pod = ref_of(kubernetes["pod"]);
  out.secret = ref_of(kubernetes["secret"]);
  out.node = ref_of(kubernetes["node"]);
  return out;
}

AccountTokens::AccountTokens(Core& core, const AuthOptions& options)
    : core_(core),
      issuer_(options.issuer),
      audiences_(options.audiences.empty() ? std::vector<std::string>{options.issuer} : options.audiences),
      address_(options.address),
      key_(options.service_account_key.empty() ? rt::SigningKey::generate()
                                               : rt::SigningKey(options.service_account_key)),
      key_id_(to_base64url(key_.id())) {}

std::string AccountTokens::issue(AccountClaims claims) {
  claims.issuer = issuer_;
  claims.id = core_.new_uid();
  const std::string text = jwt_text(json::Object{{"alg", kAlgorithm}, {"kid", key_id_}}, claims.to_json());
  return text + "." + to_base64url(key_.sign(text));
}

std::expected<std::optional<AccountClaims>, std::string> AccountTokens::read(std::string_view token) {
  const auto at = known_.find(std::string(token));
  if (at != known_.end()) return at->second;
  const auto decoded = decode_jwt(token);
  if (!decoded) return std::nullopt;
  AccountClaims claims = AccountClaims::of(decoded->claims);
  if (claims.issuer != issuer_) return std::nullopt;
  if (decoded->header.text("alg") != kAlgorithm || !key_.verify(decoded->signed_text, decoded->signature))
    return std::unexpected("the signature of the token is not valid");
  if (known_.size() >= kKnown) known_.clear();
  known_.emplace(token, claims);
  return claims;
}

std::string AccountTokens::problem(const AccountClaims& claims) const {
  const std::int64_t now = core_.now().point().time_since_epoch().count();
  if (now - kLeeway > claims.expires) return "service account token has expired";
  if (now + kLeeway < claims.not_before) return "service account token is not valid yet";
  if (now + kLeeway < claims.issued) return "service account token is issued in the future";
  const auto find = [&](const char* table, const std::string& ns, const std::string& name) -> StoredRef {
    const Table* in = core_.state.find_table(table);
    return in != nullptr ? in->find(ns, name) : nullptr;
  };
  const StoredRef account = find("serviceaccounts", claims.namespace_, claims.account.name);
  if (!account) return fmt::format("serviceaccounts \"{}\" not found", claims.account.name);
  if (account->uid != claims.account.uid)
    return fmt::format("service account UID ({}) does not match claim ({})", account->uid, claims.account.uid);
  if (gone(*account, now))
    return fmt::format("service account {}/{} has been deleted", claims.namespace_, claims.account.name);
  const auto bound = [&](const char* what, const char* table, const std::string& ns,
                         const AccountClaims::Ref& ref) -> std::string {
    const StoredRef object = find(table, ns, ref.name);
    if (!object || gone(*object, now)) return "service account token has been invalidated";
    if (object->uid == ref.uid) return {};
    return fmt::format("{} UID ({}) does not match service account {} ref claim ({})", what, object->uid, what,
                       ref.uid);
  };
  std::string out;
  if (claims.secret) out = bound("secret", "secrets", claims.namespace_, *claims.secret);
  if (out.empty() && claims.pod) out = bound("pod", "pods", claims.namespace_, *claims.pod);
  // Of a pod's token, the node is only something to know.
  if (out.empty() && claims.node && !claims.pod) out = bound("node", "nodes", "", *claims.node);
  return out;
}

std::expected<std::optional<AccountTokens::Verified>, std::string> AccountTokens::verify(
    std::string_view token, const std::vector<std::string>& audiences) {
  auto found = read(token);
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::nullopt;
  const AccountClaims& claims = **found;
  const std::vector<std::string>& wanted = audiences.empty() ? audiences_ : audiences;
  Verified out;
  for (const std::string& one : wanted)
    if (std::ranges::find(claims.audiences, one) != claims.audiences.end()) out.audiences.push_back(one);
  if (out.audiences.empty())
    return std::unexpected(fmt::format("token audiences {} is invalid for the target audiences {}",
                                       quoted(claims.audiences), quoted(wanted)));
  if (std::string why = problem(claims); !why.empty()) return std::unexpected(std::move(why));
  User& user = out.user;
  user.name = fmt::format("system:serviceaccount:{}:{}", claims.namespace_, claims.account.name);
  user.uid = claims.account.uid;
  user.groups = {"system:serviceaccounts", "system:serviceaccounts:" + claims.namespace_};
  if (!claims.id.empty()) user.extra["authentication.kubernetes.io/credential-id"] = {"JTI=" + claims.id};
  if (claims.pod) {
    user.extra["authentication.kubernetes.io/pod-name"] = {claims.pod->name};
    user.extra["authentication.kubernetes.io/pod-uid"] = {claims.pod->uid};
  }
  if (claims.node) {
    user.extra["authentication.kubernetes.io/node-name"] = {claims.node->name};
    if (!claims.node->uid.empty()) user.extra["authentication.kubernetes.io/node-uid"] = {claims.node->uid};
  }
  return out;
}

json::Value AccountTokens::discovery() const {
  return json::Object{{"issuer", issuer_},
                      {"jwks_uri", address_ + "/openid/v1/jwks"},
                      {"response_types_supported", json::Array{"id_token"}},
                      {"subject_types_supported", json::Array{"public"}},
                      {"id_token_signing_alg_values_supported", json::Array{kAlgorithm}}};
}

json::Value AccountTokens::keys() const {
  json::Object key{{"use", "sig"},
                   {"kty", "EC"},
                   {"kid", key_id_},
                   {"crv", "P-256"},
                   {"alg", kAlgorithm},
                   {"x", to_base64url(key_.x())},
                   {"y", to_base64url(key_.y())}};
  return json::Object{{"keys", json::Array{json::Value(std::move(key))}}};
}

}  // namespace kopper::plane
