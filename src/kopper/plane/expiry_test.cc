#include <gtest/gtest.h>

#include "kopper/plane/plane.h"
#include "kopper/rt/loop.h"

namespace kopper::plane {
namespace {

using namespace std::chrono_literals;

constexpr const char* kEvents = "/api/v1/namespaces/default/events";
constexpr const char* kEvent =
    R"({"metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},)"
    R"("reason":"Because","type":"Normal"})";

class ExpiryTest : public testing::Test {
 protected:
  void start(PlaneOptions options = PlaneOptions()) {
    plane_.emplace(std::move(options));
    loop_.run(plane_->start());
  }
  http::Response ask(std::string method, std::string target, std::string body = {}) {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    request.headers.set("content-type",
                        request.method == "PATCH" ? "application/merge-patch+json" : "application/json");
    return loop_.run(plane_->handle(std::move(request)));
  }
  int status_of_event() { return ask("GET", std::string(kEvents) + "/e").status; }

  rt::Loop loop_{rt::ClockMode::Manual};
  std::optional<Plane> plane_;
};

TEST_F(ExpiryTest, EventsGoAnHourAfterTheirLastWrite) {
  start();
  ASSERT_EQ(ask("POST", kEvents, kEvent).status, 201);
  ASSERT_EQ(ask("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"stays"}})").status, 201);
  const http::Response watch = ask("GET", std::string(kEvents) + "?watch=1&timeoutSeconds=36000&resourceVersion=" +
                                              std::to_string(plane_->core().state.revision()));
  loop_.advance(50min);
  ASSERT_EQ(ask("PATCH", std::string(kEvents) + "/e", R"({"count":2})").status, 200);
  EXPECT_TRUE(loop_.run(watch.body->read())->starts_with(R"({"type":"MODIFIED")"));
  loop_.advance(59min);
  EXPECT_EQ(status_of_event(), 200);
  loop_.advance(2min);
  EXPECT_EQ(status_of_event(), 404);
  EXPECT_TRUE(loop_.run(watch.body->read())->starts_with(R"({"type":"DELETED")"));
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/default/configmaps/stays").status, 200);
}

// As kube-apiserver 1.37 does.
TEST_F(ExpiryTest, NeitherFinalizersNorWritesThatChangeNothingHelp) {
  start();
  ask("POST", kEvents, kEvent);
  ask("PATCH", std::string(kEvents) + "/e", R"({"metadata":{"finalizers":["example.com/wait"]}})");
  loop_.advance(50min);
  ask("PATCH", std::string(kEvents) + "/e", R"({"type":"Normal"})");
  loop_.advance(11min);
  EXPECT_EQ(status_of_event(), 404);
}

TEST_F(ExpiryTest, TheTimeToLiveIsAnOption) {
  PlaneOptions options;
  options.event_ttl = 5min;
  start(std::move(options));
  ask("POST", kEvents, kEvent);
  loop_.advance(6min);
  EXPECT_EQ(status_of_event(), 404);
}

TEST_F(ExpiryTest, ZeroKeepsThemForEver) {
  PlaneOptions options;
  options.event_ttl = 0s;
  start(std::move(options));
  ask("POST", kEvents, kEvent);
  loop_.advance(1000h);
  EXPECT_EQ(status_of_event(), 200);
}

// A storage that gives back what it was given: an earlier process.
class Kept final : public Storage {
 public:
  Task<Loaded> load() override { co_return loaded; }
  void write(Write change) override {
    loaded.revision = change.revision;
    std::erase_if(loaded.objects, [&](const Write& old) {
      return old.table == change.table && old.namespace_ == change.namespace_ && old.name == change.name;
    });
    if (change.json) loaded.objects.push_back(std::move(change));
  }
  Task<> durable(std::uint64_t) override { co_return; }

  Loaded loaded;
};

TEST_F(ExpiryTest, ARestartDoesNotRenewThem) {
  Kept storage;
  PlaneOptions options;
  options.storage = &storage;
  start(options);
  ask("POST", kEvents, kEvent);
  loop_.advance(40min);
  start(options);
  EXPECT_EQ(status_of_event(), 200);
  loop_.advance(21min);
  EXPECT_EQ(status_of_event(), 404);
  plane_.reset();
}

}  // namespace
}  // namespace kopper::plane
