#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kopper/plane/admission.h"
#include "kopper/plane/auth/account_tokens.h"
#include "kopper/plane/auth/authorizer.h"
#include "kopper/plane/auth/caretaker.h"
#include "kopper/plane/auth/options.h"
#include "kopper/plane/core.h"
#include "kopper/plane/gate.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {

// Who asks, and whether they may: client certificates, tokens, impersonation, RBAC.
//
//   request ─ certificate or token ─► user ─ Impersonate-* ─► user ─ roles and bindings ─► 403 or on
class Auth final : public Gate {
 public:
  // `core` outlives this. Throws Error{Invalid} for a token file or a key that cannot be read.
  Auth(Core& core, AuthOptions options);

  // Makes the roles that every cluster has, and the rest that the options ask for; then keeps following changes. After
  // State::load(), and when the first namespaces are there.
  Task<> start();

  Task<User> authenticate(const http::Request& request) override;
  void authorize(const Call& call) override;

  // What the server itself has to say of an object that is written. Throws Refusal. Both outlive the task.
  Task<> admit(Call& call, Attempt& attempt);

  const Authorizer& authorizer() const { return authorizer_; }
  AccountTokens& account_tokens() { return account_tokens_; }

  // Whose token it is, with the group system:authenticated; the error is what a TokenReview says. `audiences`: one must
  // match; empty: the server's.
  std::expected<AccountTokens::Verified, std::string> token_user(std::string_view token,
                                                                 const std::vector<std::string>& audiences);

 private:
  User known_user(const http::Request& request);

  Core& core_;
  const AuthOptions options_;
  std::unordered_map<std::string, User> tokens_;
  Authorizer authorizer_;
  AccountTokens account_tokens_;
  Caretaker caretaker_;
  rt::Scope tasks_;
};

}  // namespace kopper::plane
