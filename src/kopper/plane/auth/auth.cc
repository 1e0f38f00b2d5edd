#include "kopper/plane/auth/auth.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/plane/auth/bootstrap.h"
#include "kopper/plane/auth/escalation.h"
#include "kopper/plane/auth/impersonation.h"
#include "kopper/plane/auth/pod_account.h"
#include "kopper/plane/auth/token_file.h"

namespace kopper::plane {
namespace {

constexpr const char* kInvalid = "invalid bearer token";

std::unordered_map<std::string, User> read_tokens(const std::string& text) {
  auto lines = parse_token_file(text);
  if (!lines) throw_error(lines.error(), "token file");
  std::unordered_map<std::string, User> out;
  for (auto& [token, user] : *lines) out.insert_or_assign(std::move(token), std::move(user));
  return out;
}

// What follows "Bearer ", whatever its case; nothing when there is none.
std::optional<std::string_view> bearer_token(const http::Headers& headers) {
  const std::string_view value = headers.get("authorization").value_or("");
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos || !http::same_name(value.substr(0, space), "bearer")) return std::nullopt;
  std::string_view token = value.substr(space + 1);
  while (token.starts_with(' ')) token.remove_prefix(1);
  while (token.ends_with(' ')) token.remove_suffix(1);
  if (token.empty()) return std::nullopt;
  return token;
}

// Where everybody may look, so that probes need no credentials.
bool is_open(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  return path == "/healthz" || path == "/livez" || path == "/readyz" || path == "/version";
}

User administrator() {
  User out;
  out.name = "system:admin";
  out.groups = {"system:masters", "system:authenticated"};
  return out;
}

User authenticated(User user) {
  if (!user.in("system:authenticated")) user.groups.emplace_back("system:authenticated");
  return user;
}

}  // namespace

Auth::Auth(Core& core, AuthOptions options)
    : core_(core),
      options_(std::move(options)),
      tokens_(read_tokens(options_.tokens)),
      authorizer_(core.state),
      account_tokens_(core, options_),
      caretaker_(core, authorizer_, options_) {}

Task<> Auth::start() {
  authorizer_.load();
  if (options_.bootstrap_roles) co_await make_bootstrap_roles(core_);
  co_await caretaker_.start();
  tasks_.spawn(caretaker_.run());
}

std::expected<AccountTokens::Verified, std::string> Auth::token_user(std::string_view token,
                                                                     const std::vector<std::string>& audiences) {
  if (const auto at = tokens_.find(std::string(token)); at != tokens_.end()) {
    AccountTokens::Verified out{.user = authenticated(at->second), .audiences = {}};
    for (const std::string& one : account_tokens_.audiences())
      if (audiences.empty() || std::ranges::find(audiences, one) != audiences.end()) out.audiences.push_back(one);
    if (out.audiences.empty()) return std::unexpected(kInvalid);
    return out;
  }
  auto found = account_tokens_.verify(token, audiences);
  if (!found) return std::unexpected(fmt::format("[{}, {}]", kInvalid, found.error()));
  if (!*found) return std::unexpected(kInvalid);
  (*found)->user = authenticated(std::move((*found)->user));
  return std::move(**found);
}

User Auth::known_user(const http::Request& request) {
  if (request.peer && !request.peer->common_name.empty()) {
    User user;
    user.name = request.peer->common_name;
    user.groups = request.peer->organizations;
    return authenticated(std::move(user));
  }
  if (const auto token = bearer_token(request.headers)) {
    auto found = token_user(*token, {});
    if (!found) throw unauthorized();
    return std::move(found->user);
  }
  if (!options_.required) return administrator();
  if (!options_.anonymous && !is_open(request.target)) throw unauthorized();
  User user;
  user.name = "system:anonymous";
  user.groups = {"system:unauthenticated"};
  return user;
}

Task<User> Auth::authenticate(const http::Request& request) {
  User user = known_user(request);
  if (!impersonates(request.headers)) co_return user;
  co_return impersonated(authorizer_, user, request.headers, action_of(request_info(request)));
}

void Auth::authorize(const Call& call) {
  if (!call.user.in("system:masters")) authorizer_.require(call.user, action_of(call.info));
}

Task<> Auth::admit(Call& call, Attempt& attempt) {
  forbid_escalation(authorizer_, call, attempt);
  if (!options_.pod_service_accounts || attempt.resource->kind != "Pod") co_return;
  if (caretaker_.behind(attempt.namespace_)) co_await caretaker_.tend(attempt.namespace_);
  give_pod_account(core_, attempt);
}

}  // namespace kopper::plane
