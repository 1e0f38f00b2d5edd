#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/client/fake_server.h"
#include "kopper/http/handler.h"
#include "kopper/json/value.h"
#include "kopper/rt/wait_list.h"

namespace kopper::runtime {

// An API server that holds one Lease: read, create, replace (with the resourceVersion checked) and watch.
class LeaseServer {
 public:
  // One candidate's way to it, which a test can cut.
  class Line final : public http::Handler {
   public:
    explicit Line(LeaseServer& server) : server_(server) {}

    Task<http::Response> handle(http::Request request) override {
      calls.push_back(request.method);
      if (cut) throw Error(Code::Unavailable, "connection refused");
      if (request.target.contains("watch=")) {
        if (!watchable) co_return http::text_response(403, client::status_json(403, "Forbidden", "no watch"));
        http::Response stream;
        stream.body = std::make_unique<Stream>(server_);
        co_return stream;
      }
      auto response = server_.answer(request);
      if (deaf) co_await rt::sleep(std::chrono::hours(1));  // the answer never comes
      co_return response;
    }

    std::size_t count(std::string_view method) const { return std::count(calls.begin(), calls.end(), method); }

    bool cut = false;
    bool deaf = false;
    bool watchable = true;
    std::vector<std::string> calls;

   private:
    LeaseServer& server_;
  };

  std::shared_ptr<Line> line() { return std::make_shared<Line>(*this); }

  // The present lease; null when there is none.
  json::Value lease;
  // Somebody else writes.
  void put(json::Value spec) {
    lease["metadata"]["name"] = "operator";
    lease["metadata"]["namespace"] = "system";
    lease["spec"] = std::move(spec);
    changed();
  }
  void remove() { lease = {}; }

 private:
  class Stream final : public http::Body {
   public:
    explicit Stream(LeaseServer& server) : server_(server) {}
    Task<std::optional<std::string_view>> read() override {
      if (!began_) {
        began_ = true;
        line_ = server_.lease.is_null() ? "" : event();
        line_ += fmt::format(R"({{"type":"BOOKMARK","object":{{"kind":"Lease","apiVersion":"coordination.k8s.io/v1",)"
                             R"("metadata":{{"resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":)"
                             R"("true"}}}}}}}})",
                             server_.version_);
        line_ += '\n';
        co_return line_;
      }
      while (seen_ == server_.version_) co_await rt::Waiter(server_.watching_);
      line_ = event();
      co_return line_;
    }

   private:
    std::string event() {
      seen_ = server_.version_;
      return fmt::format(R"({{"type":"MODIFIED","object":{}}})", json::dump(server_.lease)) + "\n";
    }
    LeaseServer& server_;
    bool began_ = false;
    int seen_ = 0;
    std::string line_;
  };

  http::Response answer(const http::Request& request) {
    if (request.method == "GET") {
      if (lease.is_null()) return status(404, "NotFound");
      return http::text_response(200, json::dump(lease));
    }
    auto body = *json::parse(request.body);
    if (request.method == "POST") {
      if (!lease.is_null()) return status(409, "AlreadyExists");
    } else {
      if (lease.is_null()) return status(404, "NotFound");
      if (body["metadata"].text("resourceVersion") != lease["metadata"].text("resourceVersion"))
        return status(409, "Conflict");
    }
    lease = std::move(body);
    changed();
    return http::text_response(request.method == "POST" ? 201 : 200, json::dump(lease));
  }

  void changed() {
    lease["metadata"]["resourceVersion"] = std::to_string(++version_);
    watching_.wake_all();
  }

  static http::Response status(int code, std::string_view reason) {
    return http::text_response(code, client::status_json(code, reason, reason));
  }

  int version_ = 0;
  rt::WaitList watching_;
};

}  // namespace kopper::runtime
