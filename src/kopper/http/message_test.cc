#include "kopper/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/http/handler.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::http {
namespace {

using ::testing::ElementsAre;

TEST(Headers, NamesHaveNoCase) {
  Headers headers{{"Content-Type", "text/plain"}, {"Warning", "a"}};
  headers.add("warning", "b");
  EXPECT_EQ(headers.get("content-type"), "text/plain");
  EXPECT_THAT(headers.all("WARNING"), ElementsAre("a", "b"));
  headers.set("Warning", "c");
  EXPECT_THAT(headers.all("warning"), ElementsAre("c"));
  headers.remove("CONTENT-type");
  EXPECT_EQ(headers.get("Content-Type"), std::nullopt);
  EXPECT_EQ(headers.size(), 1U);
}

class MessageTest : public ::testing::Test {
 protected:
  rt::Loop loop{rt::ClockMode::Manual};
};

TEST_F(MessageTest, ABodyIsReadToItsEndOrToTheLimit) {
  auto body = whole("0123456789");
  EXPECT_EQ(loop.run(read_all(*body)), "0123456789");
  EXPECT_EQ(loop.run(read_all(*body)), "");
  auto empty = whole("");
  EXPECT_EQ(loop.run(empty->read()), std::nullopt);
  auto large = whole("0123456789");
  EXPECT_THROW(loop.run(read_all(*large, 9)), Error);
}

WsMessage text(std::string data) { return {.binary = false, .data = std::move(data)}; }

TEST_F(MessageTest, APairOfWebSocketsCarriesMessagesBothWays) {
  auto [here, there] = websocket_pair("v4");
  EXPECT_EQ(here->subprotocol(), "v4");
  loop.run(here->send(text("ping")));
  EXPECT_EQ(loop.run(there->receive())->data, "ping");
  loop.run(there->send(text("pong")));
  loop.run(there->close());
  EXPECT_EQ(loop.run(here->receive())->data, "pong");
  EXPECT_EQ(loop.run(here->receive()), std::nullopt);
  EXPECT_THROW(loop.run(there->send(text("late"))), Error);
}

TEST_F(MessageTest, AWebSocketWhosePeerIsGoneIsBroken) {
  auto [here, there] = websocket_pair("");
  there.reset();
  EXPECT_THROW(loop.run(here->receive()), Error);
  EXPECT_THROW(loop.run(here->send(text("x"))), Error);
}

Task<> send_many(WebSocket* socket, int count, int* sent) {
  for (; *sent < count; ++*sent) {
    WsMessage message = text(std::string(100'000, 'x'));
    co_await socket->send(std::move(message));
  }
}

TEST_F(MessageTest, ASenderWaitsForItsReader) {
  auto [here, there] = websocket_pair("");
  int sent = 0;
  rt::Scope scope;
  scope.spawn(send_many(here.get(), 30, &sent));
  loop.poll();
  EXPECT_EQ(sent, 11);
  EXPECT_EQ(loop.run(there->receive())->data.size(), 100'000U);
  loop.poll();
  EXPECT_EQ(sent, 12);
}

class Silent final : public Handler {
 public:
  Task<Response> handle(Request /*request*/) override { co_return Response{}; }
};

TEST_F(MessageTest, AHandlerHasNoWebSocketUnlessItSaysSo) {
  Silent handler;
  EXPECT_THROW(loop.run(handler.connect(Request(), {})), Error);
}

}  // namespace
}  // namespace kopper::http
