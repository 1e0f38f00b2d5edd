#include "kopper/plane/auth/impersonation.h"

#include <algorithm>

#include <fmt/format.h>

#include "kopper/http/url.h"

namespace kopper::plane {
namespace {

constexpr std::string_view kExtra = "impersonate-extra-";
constexpr const char* kAuthentication = "authentication.k8s.io";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

User wanted_by(const http::Headers& headers) {
  User out;
  out.name = headers.get("impersonate-user").value_or("");
  out.uid = headers.get("impersonate-uid").value_or("");
  for (const std::string_view group : headers.all("impersonate-group")) out.groups.emplace_back(group);
  for (const auto& [name, value] : headers) {
    const std::string key = lower(name);
    if (!key.starts_with(kExtra)) continue;
    const std::string escaped = key.substr(kExtra.size());
    out.extra[http::unescape(escaped).value_or(escaped)].push_back(value);
  }
  return out;
}

// As Go prints a []string with %#v.
std::string go_list(const std::vector<std::string>& texts) {
  if (texts.empty()) return "[]string(nil)";
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + quoted(text);
  return "[]string{" + out + "}";
}

Refusal no_user(const User& wanted) {
  std::string extra;
  for (const auto& [key, values] : wanted.extra)
    extra += fmt::format("{}{}:{}", extra.empty() ? "" : ", ", quoted(key), go_list(values));
  return bad_request(
      fmt::format("requested &user.DefaultInfo{{Name:\"\", UID:{}, Groups:{}, Extra:map[string][]string{}}} without "
                  "impersonating a user name",
                  quoted(wanted.uid), go_list(wanted.groups), extra.empty() ? "(nil)" : "{" + extra + "}"));
}

struct Account {
  std::string namespace_;
  std::string name;
};

std::optional<Account> account_of(std::string_view user) {
  constexpr std::string_view kPrefix = "system:serviceaccount:";
  if (!user.starts_with(kPrefix)) return std::nullopt;
  user.remove_prefix(kPrefix.size());
  const std::size_t colon = user.find(':');
  if (colon == 0 || colon == std::string_view::npos || colon + 1 == user.size()) return std::nullopt;
  if (user.find(':', colon + 1) != std::string_view::npos) return std::nullopt;
  return Account{.namespace_ = std::string(user.substr(0, colon)), .name = std::string(user.substr(colon + 1))};
}

constexpr std::string_view kNode = "system:node:";

bool is_node(std::string_view user) { return user.starts_with(kNode) && user.size() > kNode.size(); }

Action on(std::string verb, const char* group, const char* resource, std::string name) {
  Action out;
  out.verb = std::move(verb);
  out.group = group;
  out.resource = resource;
  out.name = std::move(name);
  return out;
}

// Who it is.
Action user_action(const User& wanted, const std::string& verb, bool constrained) {
  const char* group = constrained ? kAuthentication : "";
  if (constrained && is_node(wanted.name)) return on(verb, group, "nodes", wanted.name.substr(kNode.size()));
  const auto account = account_of(wanted.name);
  if (!account) return on(verb, group, "users", wanted.name);
  Action out = on(verb, group, "serviceaccounts", account->name);
  out.namespace_ = account->namespace_;
  return out;
}

// What else it has.
void require_rest(const Authorizer& authorizer, const User& user, const User& wanted, const std::string& verb,
                  bool constrained) {
  if (!wanted.uid.empty()) authorizer.require(user, on(verb, kAuthentication, "uids", wanted.uid));
  for (const std::string& group : wanted.groups)
    authorizer.require(user, on(verb, constrained ? kAuthentication : "", "groups", group));
  for (const auto& [key, values] : wanted.extra)
    for (const std::string& value : values) {
      Action extra = on(verb, kAuthentication, "userextras", value);
      extra.subresource = key;
      authorizer.require(user, extra);
    }
}

std::string mode_of(const User& wanted) {
  const bool only_name = wanted.uid.empty() && wanted.groups.empty() && wanted.extra.empty();
  if (is_node(wanted.name)) return only_name ? "arbitrary-node" : "";
  if (account_of(wanted.name)) return only_name ? "serviceaccount" : "";
  return "user-info";
}

}  // namespace

bool impersonates(const http::Headers& headers) {
  constexpr std::string_view kPrefix = "impersonate-";
  return std::ranges::any_of(headers, [&](const http::Headers::Entry& entry) {
    return http::same_name(std::string_view(entry.first).substr(0, kPrefix.size()), kPrefix);
  });
}

User impersonated(const Authorizer& authorizer, const User& user, const http::Headers& headers, const Action& action) {
  User wanted = wanted_by(headers);
  if (wanted.name.empty()) {
    if (!wanted.uid.empty() || !wanted.groups.empty() || !wanted.extra.empty()) throw no_user(wanted);
    return user;
  }
  const std::string mode = mode_of(wanted);
  const Action plain = user_action(wanted, "impersonate", false);
  bool constrained = false;
  if (mode.empty() || authorizer.decide(user, plain).allowed) {
    authorizer.require(user, plain);
    require_rest(authorizer, user, wanted, "impersonate", false);
  } else {
    Action here = action;
    here.verb = fmt::format("impersonate-on:{}:{}", mode, action.verb);
    authorizer.require(user, here);
    const std::string verb = "impersonate:" + mode;
    authorizer.require(user, user_action(wanted, verb, true));
    require_rest(authorizer, user, wanted, verb, true);
    constrained = true;
  }
  if (constrained && is_node(wanted.name)) wanted.groups = {"system:nodes"};
  if (const auto account = account_of(wanted.name); account && wanted.groups.empty())
    wanted.groups = {"system:serviceaccounts", "system:serviceaccounts:" + account->namespace_};
  const char* everybody = wanted.name == "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  if (!wanted.in(everybody) && !wanted.in("system:unauthenticated")) wanted.groups.emplace_back(everybody);
  return wanted;
}

}  // namespace kopper::plane
