#include "kopper/runtime/fence.h"

#include <utility>

#include "kopper/base/error.h"

namespace kopper::runtime {

namespace {

class Fence final : public http::Handler {
 public:
  Fence(std::shared_ptr<http::Handler> behind, std::function<bool()> may_write)
      : behind_(std::move(behind)), may_write_(std::move(may_write)) {}

  Task<http::Response> handle(http::Request request) override {
    if (request.method != "GET" && request.method != "HEAD") check();
    return behind_->handle(std::move(request));
  }

  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request,
                                                 std::vector<std::string> subprotocols) override {
    check();
    return behind_->connect(std::move(request), std::move(subprotocols));
  }

 private:
  void check() const {
    if (!may_write_()) throw Error(Code::Unavailable, "not the leader any more: the write was not sent");
  }

  std::shared_ptr<http::Handler> behind_;
  std::function<bool()> may_write_;
};

}  // namespace

std::shared_ptr<http::Handler> fence(std::shared_ptr<http::Handler> behind, std::function<bool()> may_write) {
  return std::make_shared<Fence>(std::move(behind), std::move(may_write));
}

}  // namespace kopper::runtime
