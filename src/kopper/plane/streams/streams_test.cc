#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/http/url.h"
#include "kopper/plane/plane.h"
#include "kopper/plane/streams/test_host.h"
#include "kopper/rt/scope.h"

namespace kopper::plane {
namespace {

constexpr std::string_view kPod = R"({"metadata":{"name":"web"},"spec":{"nodeName":"node-1","containers":[
  {"name":"main","image":"a","terminationMessagePath":"/x"},{"name":"side","image":"a"}]}})";
constexpr std::string_view kStatus = R"({"metadata":{"name":"web"},"status":{"phase":"Running","containerStatuses":[
  {"name":"main","ready":true,"restartCount":2,"image":"a","imageID":"","containerID":"kopper://2",
   "state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}},
   "lastState":{"terminated":{"exitCode":1,"containerID":"kopper://1"}}},
  {"name":"side","ready":false,"restartCount":0,"image":"a","imageID":"",
   "state":{"waiting":{"reason":"ContainerCreating"}}}]}})";

class StreamsTest : public ::testing::Test {
 protected:
  StreamsTest() {
    loop_.run(plane_.start());
    plane_.set_pod_host(&host_);
    EXPECT_EQ(call("POST", "/api/v1/namespaces/default/pods", kPod).first, 201);
    EXPECT_EQ(call("PUT", "/api/v1/namespaces/default/pods/web/status", kStatus).first, 200);
  }

  std::pair<int, std::string> call(std::string method, std::string target, std::string_view body = "") {
    http::Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.headers.add("content-type", "application/json");
    request.body = body;
    auto response = loop_.run(plane_.handle(std::move(request)));
    return {response.status, loop_.run(http::read_all(*response.body))};
  }
  std::pair<int, std::string> of_pod(std::string_view what) {
    return call("GET", fmt::format("/api/v1/namespaces/default/pods/web/{}", what));
  }
  std::string why(std::string_view what) {
    const auto [status, body] = of_pod(what);
    return fmt::format("{} {}", status, json::parse(body)->text("message"));
  }

  std::unique_ptr<http::WebSocket> open(std::string_view what, std::string protocol = "v5.channel.k8s.io") {
    http::Request request;
    request.target = fmt::format("/api/v1/namespaces/default/pods/web/{}", what);
    std::vector<std::string> protocols(1, std::move(protocol));
    return loop_.run(plane_.connect(std::move(request), std::move(protocols)));
  }
  void send(http::WebSocket& socket, char channel, std::string_view bytes) {
    http::WsMessage message;
    message.data = std::string(1, channel) + std::string(bytes);
    loop_.run(socket.send(std::move(message)));
  }
  // What came on each channel until the server closed.
  std::map<int, std::string> rest(http::WebSocket& socket) {
    std::map<int, std::string> all;
    while (const auto message = loop_.run(socket.receive())) {
      all[static_cast<unsigned char>(message->data.at(0))] += message->data.substr(1);
    }
    return all;
  }
  static std::string shell(std::string_view script, std::string_view more = "stdout=true&stderr=true") {
    return fmt::format("exec?container=main&command=sh&command=-c&command={}&{}", http::escape(script), more);
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  TestHost host_;
  Plane plane_;
};

constexpr const char* kSuccess = R"({"metadata":{},"status":"Success"})";

TEST_F(StreamsTest, LogIsAskedOfTheHost) {
  const auto [status, text] = of_pod("log?container=main&timestamps=true&sinceSeconds=60&follow=1&tailLines=5");
  EXPECT_EQ(status, 200);
  EXPECT_EQ(text, "a line\n");
  EXPECT_EQ(host_.asked.name, "main");
  EXPECT_EQ(host_.asked.run, "kopper://2");
  EXPECT_TRUE(host_.asked_options.follow);
  EXPECT_TRUE(host_.asked_options.timestamps);
  EXPECT_EQ(host_.asked_options.tail_lines, 5);
  EXPECT_EQ(host_.asked_options.since, loop_.wall_now() - std::chrono::seconds(60));
  EXPECT_EQ(of_pod("log?container=main&previous=true").first, 200);
  EXPECT_EQ(host_.asked.run, "kopper://1");
}

TEST_F(StreamsTest, LogIsRefusedInTheWordsOfAKubelet) {
  EXPECT_EQ(why("log"), "400 a container name must be specified for pod web, choose one of: [main side]");
  EXPECT_EQ(why("log?container=x"), "400 container x is not valid for pod web");
  EXPECT_EQ(why("log?container=side"), R"(400 container "side" in pod "web" is waiting to start: ContainerCreating)");
  EXPECT_EQ(why("log?container=side&previous=1"), R"(400 previous terminated container "side" in pod "web" not found)");
  EXPECT_EQ(why("log?container=main&tailLines=-1"),
            "422 PodLogOptions \"web\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0");
  EXPECT_EQ(why("log?container=main&stream=Stderr"),
            "422 PodLogOptions \"web\" is invalid: stream: Forbidden: may not be specified");
  EXPECT_EQ(why("log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z"),
            "422 PodLogOptions \"web\" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be "
            "specified");
  EXPECT_EQ(why("log?sinceTime=x"),
            "400 parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"");
  EXPECT_EQ(why("log?tailLines=x"), "400 strconv.ParseInt: parsing \"x\": invalid syntax");
  host_.no_log = true;
  EXPECT_EQ(why("log?container=main"), "400 the log is gone");
  plane_.set_pod_host(nullptr);
  EXPECT_EQ(why("log?container=main"), "501 no node of this cluster runs pod web");
}

TEST_F(StreamsTest, PodWithoutANodeHasNoLog) {
  constexpr std::string_view pod = R"({"metadata":{"name":"new"},"spec":{"containers":[{"name":"c","image":"a"}]}})";
  ASSERT_EQ(call("POST", "/api/v1/namespaces/default/pods", pod).first, 201);
  EXPECT_EQ(call("GET", "/api/v1/namespaces/default/pods/new/log").first, 204);
  EXPECT_NE(call("POST", "/api/v1/namespaces/default/pods/new/exec?command=a&stdout=1")
                .second.find("pod new does not have a host assigned"),
            std::string::npos);
}

TEST_F(StreamsTest, ExecNeedsAnUpgrade) { EXPECT_EQ(why(shell("true")), "400 Upgrade request required"); }

TEST_F(StreamsTest, ExecGivesBothOutputsAndTheCode) {
  const auto socket = open(shell("echo $CONTAINER; echo err >&2; exit 3"));
  auto got = rest(*socket);
  EXPECT_EQ(got[1], "main\n");
  EXPECT_EQ(got[2], "err\n");
  const json::Value status = *json::parse(got[3]);
  EXPECT_EQ(status.text("reason"), "NonZeroExitCode");
  EXPECT_THAT(status.text("message"), ::testing::EndsWith("exit 3], exit code 3"));
  EXPECT_EQ(json::dump(std::as_const(status)["details"]), R"({"causes":[{"reason":"ExitCode","message":"3"}]})");
}

TEST_F(StreamsTest, ExecReadsInputToItsEnd) {
  const auto socket = open("exec?container=main&command=cat&stdin=true&stdout=true");
  send(*socket, 0, "in");
  send(*socket, 0, "put");
  send(*socket, '\xff', std::string_view("\0", 1));
  auto got = rest(*socket);
  EXPECT_EQ(got[1], "input");
  EXPECT_EQ(got[3], kSuccess);
}

TEST_F(StreamsTest, OlderProtocols) {
  EXPECT_EQ(rest(*open(shell("echo a"), "v4.channel.k8s.io"))[3], kSuccess);
  auto got = rest(*open(shell("exit 4"), "channel.k8s.io"));
  EXPECT_NE(got[3].find("exit code 4"), std::string::npos);
  EXPECT_EQ(got[3].find('{'), std::string::npos);
  EXPECT_THROW(open(shell("true"), "v9.channel.k8s.io"), Error);
}

TEST_F(StreamsTest, ExecInATerminal) {
  const auto socket = open(shell("read a; stty size; echo $TERM", "stdin=true&stdout=true&stderr=true&tty=true"));
  send(*socket, 4, R"({"Width":100,"Height":30})");
  send(*socket, 0, "\n");
  auto got = rest(*socket);
  EXPECT_NE(got[1].find("30 100\r\nxterm\r\n"), std::string::npos) << got[1];
  EXPECT_EQ(got.count(2), 0U);
}

TEST_F(StreamsTest, AClientThatGoesTakesItsCommandAlong) {
  auto socket = open(shell("echo $$; exec sleep 1000"));
  std::string pid;
  while (!pid.ends_with('\n')) pid += loop_.run(socket->receive())->data.substr(1);
  EXPECT_EQ(::kill(std::stoi(pid), 0), 0);
  socket.reset();
  loop_.poll();
  EXPECT_NE(::kill(std::stoi(pid), 0), 0);
}

TEST_F(StreamsTest, AClientMayGoWhileItsInputIsNotRead) {
  auto socket = open(shell("echo $$; exec sleep 1000", "stdin=true&stdout=true"));
  std::string pid;
  while (!pid.ends_with('\n')) pid += loop_.run(socket->receive())->data.substr(1);
  for (int i = 0; i < 20; ++i) send(*socket, 0, std::string(100'000, 'x'));
  loop_.poll();
  socket.reset();
  loop_.poll();
  EXPECT_EQ(::kill(std::stoi(pid), 0), 0);
  loop_.advance(std::chrono::seconds(30));
  EXPECT_NE(::kill(std::stoi(pid), 0), 0);
}

TEST_F(StreamsTest, ManyBytesBothWays) {
  const auto socket = open(shell("head -c 3000000 /dev/zero"));
  EXPECT_EQ(rest(*socket)[1].size(), 3000000U);
}

TEST_F(StreamsTest, ExecThatCannotBeSaysWhy) {
  const auto message = [](const std::string& status) { return std::string(json::parse(status)->text("message")); };
  EXPECT_EQ(message(rest(*open("exec?container=side&command=a&stdout=true"))[3]),
            R"(Internal error occurred: unable to upgrade connection: container not found ("side"))");
  EXPECT_EQ(message(rest(*open("exec?container=main&command=no-such-program&stdout=true"))[3]),
            "Internal error occurred: error executing command in container: run no-such-program: No such file or "
            "directory");
  host_.no_entry = "error executing command in container: it is mute";
  EXPECT_EQ(message(rest(*open(shell("true")))[3]),
            "Internal error occurred: error executing command in container: it is mute");
  try {
    open("exec?container=main&command=a");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.http_status, 400);
    EXPECT_EQ(message(error.message), "you must specify at least 1 of stdin, stdout, stderr");
  }
}

TEST_F(StreamsTest, AttachCarriesWhatTheContainerSays) {
  const auto socket = open("attach?container=main&stdin=true&stdout=true&stderr=true");
  send(*socket, 0, "hello");
  send(*socket, 0, "!oops");
  loop_.poll();
  send(*socket, '\xff', std::string_view("\0", 1));
  auto got = rest(*socket);
  EXPECT_EQ(got[1] + got[2], "hello!oops");
  EXPECT_EQ(got[3], kSuccess);
}

// A server that says what it hears until it hears the end.
Task<> echo_once(rt::Listener* listener) {
  const auto stream = co_await listener->accept();
  std::string buffer(100, '\0');
  while (const auto n = co_await stream->read(buffer)) co_await stream->write(std::string_view(buffer).substr(0, n));
}

TEST_F(StreamsTest, PortsAreForwardedOverChannels) {
  rt::Listener listener = rt::Listener::tcp();
  rt::Scope scope;
  scope.spawn(echo_once(&listener));
  const std::uint16_t closed = rt::Listener::tcp().port();
  const auto socket = open(fmt::format("portforward?ports={},{}", listener.port(), closed), "v4.channel.k8s.io");
  const std::string port{static_cast<char>(listener.port() & 0xffU), static_cast<char>(listener.port() >> 8U)};
  send(*socket, 0, "there and back");
  std::map<int, std::string> got;
  while (!got[0].ends_with("back") || got[3].size() < 10) {
    const auto message = loop_.run(socket->receive());
    got[static_cast<unsigned char>(message->data.at(0))] += message->data.substr(1);
  }
  EXPECT_EQ(got[0], port + "there and back");
  EXPECT_EQ(got[1], port);
  EXPECT_EQ(host_.asked.pod.name, "web");
  EXPECT_THAT(got[3].substr(2),
              ::testing::MatchesRegex(
                  fmt::format("error forwarding port {} to pod web, uid .*: connect 127.0.0.1:.*refused", closed)));
}

TEST_F(StreamsTest, PortsThatAreNoneAreRefused) {
  const auto refusal = [&](std::string_view what, std::string protocol) {
    try {
      open(what, std::move(protocol));
    } catch (const Error& error) {
      return std::string(json::parse(error.message)->text("message"));
    }
    return std::string();
  };
  EXPECT_EQ(refusal("portforward?ports=x", "v4.channel.k8s.io"),
            "cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax");
  EXPECT_EQ(refusal("portforward", "v4.channel.k8s.io"), "query parameter \"ports\" is required");
  EXPECT_NE(refusal("portforward?ports=1", "v5.channel.k8s.io").find("are not supported"), std::string::npos);
}

TEST_F(StreamsTest, SpdyIsRefusedBeforeItIsSpoken) {
  const auto refusal = [&](std::string_view what, std::string_view protocol) -> std::string {
    http::Request request;
    request.method = "POST";
    request.target = fmt::format("/api/v1/namespaces/default/pods/web/{}", what);
    if (!protocol.empty()) request.headers.add("X-Stream-Protocol-Version", protocol);
    try {
      loop_.run(plane_.upgrade(std::move(request)));
    } catch (const Error& error) {
      return fmt::format("{} {}", error.http_status, error.message);
    }
    return "";
  };
  EXPECT_EQ(refusal(shell("true"), ""),
            "400 unable to upgrade: header X-Stream-Protocol-Version does not exist in request");
  EXPECT_EQ(refusal(shell("true"), "v9"),
            "403 unable to upgrade: unable to negotiate protocol: client supports [v9], server accepts "
            "[v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]");
  EXPECT_EQ(refusal("exec?container=side&command=a&stdout=true", "v4.channel.k8s.io"),
            R"(500 container not found ("side"))");
  EXPECT_THAT(refusal("exec?container=x&command=a&stdout=true", "v4.channel.k8s.io"), ::testing::StartsWith("400 {"));
  EXPECT_EQ(refusal(shell("true"), "v5, v4.channel.k8s.io"), "");
}

}  // namespace
}  // namespace kopper::plane
