// `kopper cluster --debug-faults`, over the network.
#include <fstream>

#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/client/transport.h"
#include "kopper/rt/loop.h"

#include "program.h"

namespace kopper::local {
namespace {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kEvents = "/api/v1/namespaces/default/events";

class FaultsOverTheNetwork : public testing::Test {
 protected:
  void start(std::vector<std::string> flags) {
    loop_.run(program_.start(std::move(flags)));
    server_ = program_.connect();
  }
  Answer say(std::string method, std::string target, std::string body = "") {
    return loop_.run(ask(*server_, request(std::move(method), std::move(target), std::move(body))));
  }
  void fault(std::string rule) {
    const Answer made = say("POST", "/debug/faults", std::move(rule));
    ASSERT_EQ(made.status, 200) << made.body;
  }

  rt::Loop loop_;
  Program program_;
  std::shared_ptr<http::Handler> server_;
};

TEST_F(FaultsOverTheNetwork, OffUnlessAskedFor) {
  start({});
  EXPECT_EQ(say("GET", "/debug/faults").status, 404);
  EXPECT_EQ(say("POST", "/debug/clock", R"({"forwardSeconds":1})").status, 404);
}

TEST_F(FaultsOverTheNetwork, RefusesBreaksAndHeals) {
  start({"--debug-faults"});
  fault(R"({"match":{"verbs":["create"],"resource":"configmaps"},"status":429,"retryAfterSeconds":3,"times":1})");
  const Answer refused = say("POST", kMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.get("retry-after"), "3");
  EXPECT_EQ(refused.json().text("kind"), "Status");

  fault(R"({"match":{"resource":"configmaps"},"effect":"Lose","times":1})");
  EXPECT_THROW(say("POST", kMaps, R"({"metadata":{"name":"a"}})"), Error);
  EXPECT_EQ(say("GET", std::string(kMaps) + "/a").status, 200) << "it was made all the same";

  http::Request asked = request("GET", std::string(kMaps) + "?watch=1");
  asked.long_running = true;
  const http::Response watch = loop_.run(server_->handle(std::move(asked)));
  EXPECT_TRUE(loop_.run(watch.body->read()));
  fault(R"({"effect":"HangUp","onlyOpen":true})");
  EXPECT_THROW(loop_.run(http::read_all(*watch.body)), Error);
  EXPECT_EQ(say("GET", kMaps).status, 200) << "only what was open";
}

TEST_F(FaultsOverTheNetwork, AnHourPassesAtOnce) {
  start({"--debug-faults", "--event-ttl=30m"});
  const Answer made = say("POST", kEvents,
                          R"({"metadata":{"name":"e","namespace":"default"},"reason":"R","type":"Normal",)"
                          R"("involvedObject":{"kind":"Pod","name":"p","namespace":"default"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(say("POST", "/debug/clock", R"({"forwardSeconds":3600})").status, 200);
  EXPECT_EQ(say("GET", std::string(kEvents) + "/e").status, 404);
  EXPECT_EQ(say("POST", "/debug/clock", R"({"forwardSeconds":-1})").status, 400);
}

TEST_F(FaultsOverTheNetwork, OnlyAdministratorsMay) {
  const auto tokens = program_.folder() / "tokens";
  std::ofstream(tokens) << "secret,somebody,1,\"people\"\n";
  start({"--debug-faults", "--token-auth-file", tokens.string()});
  client::Config config = program_.config();
  config.token = "secret";
  config.client_cert = {};
  config.client_key = {};
  server_ = client::make_transport(config);
  EXPECT_EQ(say("GET", "/debug/faults").status, 403);
  EXPECT_EQ(say("POST", "/debug/faults", R"({"status":500})").status, 403);
  EXPECT_EQ(say("POST", "/debug/clock", R"({"forwardSeconds":1})").status, 403);
}

}  // namespace
}  // namespace kopper::local
