#include "kopper/runtime/health_guard.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "kopper/api/gen/authentication_v1.h"
#include "kopper/api/gen/authorization_v1.h"
#include "kopper/base/error.h"
#include "kopper/base/log.h"
#include "kopper/client/api.h"

namespace kopper::runtime {
namespace {

using api::authenticationv1::TokenReview;
using api::authenticationv1::UserInfo;
using api::authorizationv1::SubjectAccessReview;

// Answers that hold for a while.
template <class V>
class Memory {
 public:
  explicit Memory(std::size_t most) : most_(most) {}

  const V* find(const std::string& key, rt::TimePoint now) const {
    const auto found = known_.find(key);
    return found != known_.end() && now < found->second.until ? &found->second.value : nullptr;
  }
  void put(std::string key, V value, rt::TimePoint now, rt::Duration how_long) {
    if (known_.size() >= most_) std::erase_if(known_, [&](const auto& k) { return k.second.until <= now; });
    if (known_.size() >= most_) known_.clear();
    known_.insert_or_assign(std::move(key), Entry{std::move(value), now + how_long});
  }

 private:
  struct Entry {
    V value;
    rt::TimePoint until;
  };
  const std::size_t most_;
  std::map<std::string, Entry> known_;
};

std::optional<std::string> bearer(const http::Headers& headers) {
  constexpr std::string_view kScheme = "bearer ";
  const auto value = headers.get("authorization");
  if (!value || value->size() <= kScheme.size()) return std::nullopt;
  if (!http::same_name(value->substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return std::string(value->substr(kScheme.size()));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return text;
}

class Guard final : public http::Handler {
 public:
  Guard(client::Client client, std::unique_ptr<http::Handler> inner, GuardOptions options)
      : client_(std::move(client)),
        inner_(std::move(inner)),
        options_(options),
        users_(options.max_remembered),
        verdicts_(options.max_remembered) {}

  Task<http::Response> handle(http::Request request) override {
    try {
      auto token = bearer(request.headers);
      if (!token) co_return unauthorized();
      const auto user = co_await user_of(std::move(*token));
      if (!user) co_return unauthorized();
      auto path = request.target.substr(0, request.target.find('?'));
      const bool may = co_await allowed(*user, lower(request.method), std::move(path));
      if (!may) co_return http::text_response(403, "Forbidden\n");
    } catch (const Error& error) {
      log::warn("who asks for metrics could not be checked", {{"error", error.what()}});
      co_return http::text_response(503, "the API server does not say whether you may\n");
    }
    co_return co_await inner_->handle(std::move(request));
  }

 private:
  static http::Response unauthorized() {
    auto response = http::text_response(401, "Unauthorized\n");
    response.headers.set("www-authenticate", "Bearer");
    return response;
  }

  Task<std::optional<UserInfo>> user_of(std::string token) {
    const auto now = rt::Loop::current().now();
    if (const auto* known = users_.find(token, now)) co_return *known;
    TokenReview review;
    review.spec.token = token;
    const auto answer = co_await client_.of<TokenReview>().create(std::move(review));
    std::optional<UserInfo> user;
    if (answer.status.authenticated) user = answer.status.user;
    users_.put(std::move(token), user, now, options_.remember_token);
    co_return user;
  }

  Task<bool> allowed(UserInfo user, std::string verb, std::string path) {
    SubjectAccessReview review;
    review.spec.user = user.username;
    review.spec.uid = user.uid;
    review.spec.groups = user.groups;
    review.spec.extra = user.extra;
    review.spec.nonResourceAttributes.emplace();
    review.spec.nonResourceAttributes->verb = std::move(verb);
    review.spec.nonResourceAttributes->path = std::move(path);
    const auto now = rt::Loop::current().now();
    auto key = client::to_json(review);
    if (const auto* known = verdicts_.find(key, now)) co_return *known;
    const auto answer = co_await client_.of<SubjectAccessReview>().create(std::move(review));
    const bool yes = answer.status.allowed && !answer.status.denied;
    verdicts_.put(std::move(key), yes, now, yes ? options_.remember_yes : options_.remember_no);
    co_return yes;
  }

  // constant after construction
  const client::Client client_;
  const std::unique_ptr<http::Handler> inner_;
  const GuardOptions options_;

  // this loop only
  Memory<std::optional<UserInfo>> users_;  // by token
  Memory<bool> verdicts_;                  // by question
};

}  // namespace

std::unique_ptr<http::Handler> guarded(client::Client client, std::unique_ptr<http::Handler> inner,
                                       GuardOptions options) {
  return std::make_unique<Guard>(std::move(client), std::move(inner), options);
}

}  // namespace kopper::runtime
