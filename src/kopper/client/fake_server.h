#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/http/handler.h"
#include "kopper/rt/loop.h"

// For the tests of this module: a server that gives the answers it was told to, one after another.
namespace kopper::client {

// A body in pieces, as a network makes them; then it ends, breaks, or stays open.
class PiecesBody final : public http::Body {
 public:
  enum class Then : std::uint8_t { End, Break, Stay };
  explicit PiecesBody(std::vector<std::string> pieces, Then then = Then::End)
      : pieces_(std::move(pieces)), then_(then) {}

  Task<std::optional<std::string_view>> read() override {
    if (at_ < pieces_.size()) co_return std::string_view(pieces_[at_++]);
    if (then_ == Then::Break) throw Error(Code::Unavailable, "connection reset");
    if (then_ == Then::Stay) co_await rt::sleep(std::chrono::hours(24));
    co_return std::nullopt;
  }

 private:
  std::vector<std::string> pieces_;
  Then then_;
  std::size_t at_ = 0;
};

class FakeServer final : public http::Handler {
 public:
  using Answer = std::function<http::Response()>;

  // The next answers.
  FakeServer& then(int status, std::string body, http::Headers headers = http::Headers()) {
    return then([=] {
      http::Response response;
      response.status = status;
      response.headers = headers;
      response.body = http::whole(body);
      return response;
    });
  }
  FakeServer& then_pieces(std::vector<std::string> pieces, PiecesBody::Then end = PiecesBody::Then::End) {
    return then([=] {
      http::Response response;
      response.body = std::make_unique<PiecesBody>(pieces, end);
      return response;
    });
  }
  FakeServer& then_unreachable() {
    return then([]() -> http::Response { throw Error(Code::Unavailable, "connection refused"); });
  }
  FakeServer& then(Answer answer) {
    answers_.push_back(std::move(answer));
    return *this;
  }

  Task<http::Response> handle(http::Request request) override {
    seen.push_back(std::move(request));
    if (answers_.empty()) throw Error(Code::Internal, "unexpected request: " + seen.back().target);
    const auto answer = std::move(answers_.front());
    answers_.pop_front();
    co_return answer();
  }

  std::string target(std::size_t index) const { return index < seen.size() ? seen[index].target : "(none)"; }
  bool done() const { return answers_.empty(); }

  std::vector<http::Request> seen;

 private:
  std::deque<Answer> answers_;
};

inline std::string status_json(int code, std::string_view reason, std::string_view message) {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{}","reason":"{}","details":{{"name":"x"}},"code":{}}})",
      message, reason, code);
}

}  // namespace kopper::client
