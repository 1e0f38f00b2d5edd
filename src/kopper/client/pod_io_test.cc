#include "kopper/client/pod_io.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/client/fake_server.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"

namespace kopper::client {
namespace {

using testing::HasSubstr;

// The kubelet's side of exec and port-forward.
class FakeKubelet final : public http::Handler {
 public:
  using Serve = std::function<Task<>(std::unique_ptr<http::WebSocket>)>;
  FakeKubelet(std::string protocol, Serve serve) : protocol_(std::move(protocol)), serve_(std::move(serve)) {}

  Task<http::Response> handle(http::Request /*request*/) override {
    throw Error(Code::Internal, "not a WebSocket");
    co_return http::Response{};
  }
  Task<std::unique_ptr<http::WebSocket>> connect(http::Request request, std::vector<std::string> protocols) override {
    target = request.target;
    offered = std::move(protocols);
    auto [here, there] = http::websocket_pair(protocol_);
    tasks_.spawn(guarded(serve_(std::move(here))));
    co_return std::move(there);
  }

  std::string target;
  std::vector<std::string> offered;

 private:
  static Task<> guarded(Task<> served) {
    try {
      co_await served;
    } catch (const Error&) {
      // the client left
    }
  }

  std::string protocol_;
  Serve serve_;
  rt::Scope tasks_;
};

http::WsMessage message(char channel, std::string_view data) {
  http::WsMessage made;
  made.data = channel + std::string(data);
  return made;
}

Task<> tell(http::WebSocket* socket, char channel, std::string data) { co_await socket->send(message(channel, data)); }

// `tr a-z A-Z`, then exit 3: reads stdin until it is closed.
Task<> upper(std::unique_ptr<http::WebSocket> socket) {
  co_await tell(socket.get(), 1, "");
  co_await tell(socket.get(), 2, "warning");
  while (auto in = co_await socket->receive()) {
    if (in->data == std::string("\xff\0", 2)) break;
    if (in->data.empty() || in->data.front() != '\0') continue;
    std::string out;
    for (const char c : in->data.substr(1)) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    co_await tell(socket.get(), 1, std::move(out));
  }
  co_await tell(
      socket.get(), 3,
      R"({"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code","reason":"NonZeroExitCode",)"
      R"("details":{"causes":[{"reason":"ExitCode","message":"3"}]}})");
  co_await socket->close();
}

Task<> succeed(std::unique_ptr<http::WebSocket> socket) {
  co_await tell(socket.get(), 1, "done");
  co_await tell(socket.get(), 3, R"({"metadata":{},"status":"Success"})");
  co_await socket->close();
}

Task<> not_found(std::unique_ptr<http::WebSocket> socket) {
  co_await tell(
      socket.get(), 3,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"exec: \"nope\": executable file not found","reason":"InternalError","code":500})");
  co_await socket->close();
}

Task<> hang_up(std::unique_ptr<http::WebSocket> socket) { co_await socket->close(); }

Task<> echo_resize(std::unique_ptr<http::WebSocket> socket) {
  const auto in = co_await socket->receive();
  co_await tell(socket.get(), 1, in->data.substr(1));
  co_await tell(socket.get(), 3, R"({"status":"Success"})");
  co_await socket->close();
}

Task<> echo_port(std::unique_ptr<http::WebSocket> socket) {
  co_await tell(socket.get(), 0, std::string("\x50\x00", 2));
  co_await tell(socket.get(), 1, std::string("\x50\x00", 2));
  while (auto in = co_await socket->receive()) co_await socket->send(std::move(*in));
}

Task<> refuse_port(std::unique_ptr<http::WebSocket> socket) {
  co_await tell(socket.get(), 0, std::string("\x50\x00", 2));
  co_await tell(socket.get(), 1, std::string("\x50\x00", 2));
  co_await tell(socket.get(), 1, "error forwarding port 80: connection refused");
  co_await socket->close();
}

struct PodIoTest : testing::Test {
  Client kubelet(std::string protocol, FakeKubelet::Serve serve) {
    handler = std::make_shared<FakeKubelet>(std::move(protocol), std::move(serve));
    return Client(handler);
  }
  rt::Loop loop{rt::ClockMode::Manual};
  std::shared_ptr<FakeKubelet> handler;
  const Key pod{"n", "p"};
};

TEST_F(PodIoTest, RunsACommandWithInput) {
  const auto result = loop.run(run(kubelet("v5.channel.k8s.io", upper), pod, {.command = {"tr"}}, "hello"));
  EXPECT_EQ(result.out, "HELLO");
  EXPECT_EQ(result.err, "warning");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(handler->target, "/api/v1/namespaces/n/pods/p/exec?command=tr&stdin=true&stdout=true&stderr=true");
  EXPECT_THAT(handler->offered, testing::ElementsAre("v5.channel.k8s.io", "v4.channel.k8s.io"));
}

TEST_F(PodIoTest, SuccessIsZero) {
  const auto result = loop.run(run(kubelet("v4.channel.k8s.io", succeed), pod, {.command = {"true"}}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "done");
}

TEST_F(PodIoTest, TheServersReasonIsThrown) {
  try {
    loop.run(run(kubelet("v5.channel.k8s.io", not_found), pod, {.command = {"nope"}}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "exec: \"nope\": executable file not found");
  }
}

TEST_F(PodIoTest, AnEndWithoutStatusIsAnError) {
  EXPECT_THROW(loop.run(run(kubelet("v5.channel.k8s.io", hang_up), pod, {.command = {"x"}})), Error);
}

TEST_F(PodIoTest, OldServersCannotCloseStdin) {
  auto session = loop.run(attach(kubelet("v4.channel.k8s.io", echo_resize), pod, {.stdin_ = true}));
  EXPECT_THROW(loop.run(session.close_stdin()), Error);
  EXPECT_EQ(handler->target, "/api/v1/namespaces/n/pods/p/attach?stdin=true&stdout=true&stderr=true");
}

TEST_F(PodIoTest, Resize) {
  auto session = loop.run(exec(kubelet("v5.channel.k8s.io", echo_resize), pod, {.command = {"sh"}, .tty = true}));
  loop.run(session.resize(80, 24));
  EXPECT_EQ(loop.run(session.read())->data, R"({"Width":80,"Height":24})");
  EXPECT_FALSE(loop.run(session.read()));
  EXPECT_EQ(session.exit_code(), 0);
}

TEST_F(PodIoTest, OutputIsBounded) {
  EXPECT_THROW(loop.run(run(kubelet("v5.channel.k8s.io", succeed), pod, {.command = {"x"}}, "", 3)), Error);
}

TEST_F(PodIoTest, APortIsAStream) {
  auto port = loop.run(port_forward(kubelet("v4.channel.k8s.io", echo_port), pod, 80));
  EXPECT_EQ(handler->target, "/api/v1/namespaces/n/pods/p/portforward?ports=80");
  loop.run(port->write("ping"));
  std::string in(4, ' ');
  EXPECT_EQ(loop.run(port->read(std::span(in).first(3))), 3U);
  EXPECT_EQ(loop.run(port->read(std::span(in).last(1))), 1U);
  EXPECT_EQ(in, "ping");
  loop.run(port->shutdown());
}

Task<> read_until_closed(rt::Stream* stream, std::string* why) {
  std::string in(4, ' ');
  try {
    co_await stream->read(in);
  } catch (const Error& error) {
    *why = error.what();
  }
}

TEST_F(PodIoTest, ClosingAPortEndsItsReader) {
  auto port = loop.run(port_forward(kubelet("v4.channel.k8s.io", echo_port), pod, 80));
  std::string why;
  rt::Scope scope;
  scope.spawn(read_until_closed(port.get(), &why));
  loop.poll();
  EXPECT_EQ(why, "");
  port->close();
  loop.poll();
  EXPECT_EQ(why, "port 80 of pod n/p: closed");
}

TEST_F(PodIoTest, APortThatIsRefusedSaysWhy) {
  auto port = loop.run(port_forward(kubelet("v4.channel.k8s.io", refuse_port), pod, 80));
  std::string in(4, ' ');
  try {
    loop.run(port->read(in));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "port 80 of pod n/p: error forwarding port 80: connection refused");
  }
}

TEST_F(PodIoTest, Logs) {
  const auto server = std::make_shared<FakeServer>();
  server->then_pieces({"one\ntw", "o\n"}).then(400, status_json(400, "BadRequest", "container is waiting"));
  auto lines = loop.run(log_lines(Client(server), pod, {.follow = true}));
  EXPECT_EQ(loop.run(lines.next()), "one");
  EXPECT_EQ(loop.run(lines.next()), "two");
  EXPECT_FALSE(loop.run(lines.next()));
  EXPECT_THROW(loop.run(log_bytes(Client(server), pod)), Error);
}

TEST_F(PodIoTest, EvictionOutcomes) {
  const auto server = std::make_shared<FakeServer>();
  server->then(201, "{}")
      .then(404, status_json(404, "NotFound", "no pod"))
      .then(429,
            R"({"kind":"Status","apiVersion":"v1","code":429,"reason":"TooManyRequests","message":"Cannot evict pod",
             "details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget b needs 1 healthy pods and has 1 currently"}]}})");
  EXPECT_EQ(loop.run(evict(Client(server), pod)).outcome, Eviction::Outcome::Evicted);
  EXPECT_EQ(loop.run(evict(Client(server), pod)).outcome, Eviction::Outcome::Absent);
  const auto blocked = loop.run(evict(Client(server), pod));
  EXPECT_EQ(blocked.outcome, Eviction::Outcome::Blocked);
  EXPECT_THAT(blocked.message, HasSubstr("disruption budget b needs"));
}

TEST_F(PodIoTest, ServersBefore122KnowOnlyTheBetaOfEviction) {
  const auto server = std::make_shared<FakeServer>();
  server->then(400, status_json(400, "BadRequest", "no kind Eviction is registered for version policy/v1"))
      .then(201, "{}")
      .then(400, status_json(400, "BadRequest", "the name of the pod does not match"));
  EXPECT_EQ(loop.run(evict(Client(server), pod)).outcome, Eviction::Outcome::Evicted);
  EXPECT_THAT(server->seen.back().body, HasSubstr("policy/v1beta1"));
  EXPECT_THROW(loop.run(evict(Client(server), pod)), Error);
  EXPECT_EQ(server->seen.size(), 3U);
}

}  // namespace
}  // namespace kopper::client
