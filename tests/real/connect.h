#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/api/names.h"
#include "kopper/client/api.h"
#include "kopper/client/client.h"
#include "kopper/client/config.h"
#include "kopper/client/transport.h"
#include "kopper/http/handler.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

#include "real/cluster.h"

// A client of the real server, as a program would make it, and a wire that a test can cut.
namespace kopper::testing {

inline client::Config admin_config() {
  client::Config config;
  config.server = cluster().url();
  config.ca.file = cluster().ca_file();
  config.token = cluster().admin_token();
  return config;
}

// Hands requests on; keeps their targets; breaks everything that is open when it is cut, until it is mended.
class Wire final : public http::Handler {
 public:
  explicit Wire(std::shared_ptr<http::Handler> inner) : inner_(std::move(inner)) {}

  Task<http::Response> handle(http::Request request) override {
    targets.push_back(request.method + " " + request.target);
    if (*cut_) throw Error(Code::Unavailable, "the wire is cut");
    auto response = co_await inner_->handle(std::move(request));
    response.body = std::make_unique<Body>(std::move(response.body), cut_);
    co_return response;
  }

  void cut() { *cut_ = true; }
  // What was open stays broken.
  void mend() { cut_ = std::make_shared<bool>(false); }

  std::vector<std::string> targets;

 private:
  class Body final : public http::Body {
   public:
    Body(std::unique_ptr<http::Body> inner, std::shared_ptr<const bool> cut)
        : inner_(std::move(inner)), cut_(std::move(cut)) {}
    Task<std::optional<std::string_view>> read() override {
      if (*cut_) throw Error(Code::Unavailable, "the wire is cut");
      const auto chunk = co_await inner_->read();
      if (*cut_) throw Error(Code::Unavailable, "the wire is cut");
      co_return chunk;
    }

   private:
    std::unique_ptr<http::Body> inner_;
    std::shared_ptr<const bool> cut_;
  };

  std::shared_ptr<http::Handler> inner_;
  std::shared_ptr<bool> cut_ = std::make_shared<bool>(false);
};

// A field selector for all but what a cluster with controllers puts into every namespace.
inline constexpr const char* kOurs = "metadata.name!=kube-root-ca.crt";

// A loop, an administrator's client, and a namespace of the test's own.
struct Real : ::testing::Test {
  void SetUp() override {
    Namespace space;
    space.metadata.generateName = "client-";
    ns = loop.run(client.of<Namespace>().create(space)).metadata.name;
  }

  template <class T>
  T run(Task<T> task) {
    return loop.run(rt::timeout(std::chrono::minutes(2), std::move(task)));
  }
  // The error that a call ends with.
  template <class T>
  Error error_of(Task<T> task) {
    try {
      run(std::move(task));
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(Code::Internal, "nothing was thrown");
  }
  ConfigMap config_map(std::string name, std::string value = "v") const {
    ConfigMap made;
    made.metadata.name = std::move(name);
    made.metadata.namespace_ = ns;
    made.data["key"] = std::move(value);
    return made;
  }
  Key key(std::string name) const { return {ns, std::move(name)}; }

  std::string ns;
  rt::Loop loop;
  std::shared_ptr<Wire> wire = std::make_shared<Wire>(client::make_transport(admin_config()));
  std::vector<std::string> warnings;
  client::Client client{
      wire, {.field_manager = "suite", .on_warning = [this](std::string_view text) { warnings.emplace_back(text); }}};
};

}  // namespace kopper::testing
