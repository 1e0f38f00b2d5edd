#include "kopper/http/websocket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/http/detail/h1.h"
#include "kopper/rt/scope.h"

namespace kopper::http {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

Task<> accept(std::unique_ptr<rt::Stream> stream, std::unique_ptr<WebSocket>* socket) {
  detail::H1Reader reader(*stream, detail::H1Reader::Kind::Requests, 10'000);
  auto head = co_await reader.head();
  Request request;
  request.method = head->method;
  request.target = head->target;
  request.headers = head->headers;
  EXPECT_TRUE(wants_websocket(request));
  EXPECT_THAT(offered_subprotocols(request), ElementsAre("a", "b"));
  auto accepting = websocket_accept(std::move(stream), reader.take_rest(), std::move(request), "b", WebSocketOptions());
  *socket = co_await accepting;
}

Task<> connect(std::unique_ptr<rt::Stream> stream, std::unique_ptr<WebSocket>* socket) {
  std::vector<std::string> subprotocols{"a", "b"};
  auto connecting = websocket_connect(std::move(stream), "h", Request(), std::move(subprotocols), WebSocketOptions());
  *socket = co_await connecting;
}

Task<> receive(WebSocket* socket, std::optional<WsMessage>* message, std::optional<Error>* error) {
  try {
    *message = co_await socket->receive();
  } catch (const Error& broken) {
    *error = broken;
  }
}

// Both ends over a pipe in memory, with a manual clock.
class WebSocketTest : public ::testing::Test {
 protected:
  WebSocketTest() {
    auto [here, there] = rt::pipe();
    tasks.spawn(accept(std::move(there), &server));
    tasks.spawn(connect(std::move(here), &client));
    loop.poll();
  }

  rt::Loop loop{rt::ClockMode::Manual};
  std::unique_ptr<WebSocket> client;
  std::unique_ptr<WebSocket> server;
  std::optional<WsMessage> message;
  std::optional<Error> error;
  rt::Scope tasks;
};

TEST_F(WebSocketTest, AgreesOnASubprotocol) {
  ASSERT_TRUE(client && server);
  EXPECT_EQ(client->subprotocol(), "b");
  EXPECT_EQ(server->subprotocol(), "b");
}

TEST_F(WebSocketTest, PingsKeepASilentConnection) {
  std::optional<WsMessage> of_server;
  std::optional<Error> server_error;
  tasks.spawn(receive(client.get(), &message, &error));
  tasks.spawn(receive(server.get(), &of_server, &server_error));
  for (int i = 0; i < 20; ++i) loop.advance(30s);
  EXPECT_FALSE(error || server_error);
  WsMessage late{.binary = false, .data = "late"};
  loop.run(server->send(std::move(late)));
  loop.poll();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->data, "late");
}

TEST_F(WebSocketTest, ADeadPeerIsFoundOut) {
  tasks.spawn(receive(client.get(), &message, &error));  // nobody reads at the other end, so nobody answers
  loop.advance(44s);
  EXPECT_FALSE(error);
  loop.advance(1s);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::Unavailable);
}

}  // namespace
}  // namespace kopper::http
