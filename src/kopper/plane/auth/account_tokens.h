#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kopper/json/value.h"
#include "kopper/plane/auth/options.h"
#include "kopper/plane/call.h"
#include "kopper/plane/core.h"
#include "kopper/rt/sign.h"

namespace kopper::plane {

// What a service account's token says: RFC 7519 and kubernetes.io.
struct AccountClaims {
  struct Ref {
    std::string name;
    std::string uid;
  };

  std::string issuer;
  std::string subject;
  std::string id;
  std::vector<std::string> audiences;
  std::int64_t expires = 0;  // seconds since 1970
  std::int64_t not_before = 0;
  std::int64_t issued = 0;
  std::optional<std::int64_t> warn_after;
  std::string namespace_;
  Ref account;
  std::optional<Ref> pod;
  std::optional<Ref> secret;
  std::optional<Ref> node;

  json::Value to_json() const;
  // Takes what is there; verify() finds out what is missing.
  static AccountClaims of(const json::Value& claims);
};

// Issues and verifies the tokens of service accounts. A token ends with its time, and with the account, pod, secret or
// node that it is bound to: each use looks them up.
class AccountTokens {
 public:
  // `core` outlives this. Throws Error{Invalid} for a key that is none.
  AccountTokens(Core& core, const AuthOptions& options);

  const std::vector<std::string>& audiences() const { return audiences_; }

  // Signs the claims; the issuer and the id are filled in.
  std::string issue(AccountClaims claims);

  struct Verified {
    User user;
    std::vector<std::string> audiences;  // of those asked for, the ones that the token is for
  };
  // Nothing when it is no token of this issuer; the error says why it does not count. `audiences`: one must match;
  // empty: the server's.
  std::expected<std::optional<Verified>, std::string> verify(std::string_view token,
                                                             const std::vector<std::string>& audiences);

  // What GET /.well-known/openid-configuration and /openid/v1/jwks answer.
  json::Value discovery() const;
  json::Value keys() const;

 private:
  std::expected<std::optional<AccountClaims>, std::string> read(std::string_view token);
  // Why the token does not count any more; empty when it does.
  std::string problem(const AccountClaims& claims) const;

  Core& core_;
  const std::string issuer_;
  const std::vector<std::string> audiences_;
  const std::string address_;
  const rt::SigningKey key_;
  const std::string key_id_;
  std::unordered_map<std::string, AccountClaims> known_;  // by token: a signature is verified once
};

}  // namespace kopper::plane
