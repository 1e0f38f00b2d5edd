#include "kopper/rt/stream.h"

#include <gtest/gtest.h>

#include "kopper/base/error.h"
#include "kopper/rt/scope.h"

namespace kopper::rt {
namespace {

using namespace std::chrono_literals;

Task<std::string> read_to_end(Stream* stream) {
  std::string all;
  std::array<char, 1000> buffer;
  for (;;) {
    const auto n = co_await stream->read(buffer);
    if (n == 0) co_return all;
    all.append(buffer.data(), n);
  }
}

Task<> echo(Stream* stream) {
  const auto all = co_await read_to_end(stream);
  co_await stream->write(all);
  co_await stream->shutdown();
}

Task<std::string> ask(Stream* stream, std::string question) {
  co_await stream->write(question);
  co_await stream->shutdown();
  co_return co_await read_to_end(stream);
}

Task<> serve_one(Listener* listener) {
  const auto stream = co_await listener->accept();
  co_await echo(stream.get());
}

Task<std::string> over_tcp(std::string host, std::uint16_t port, std::string question) {
  const auto stream = co_await connect_tcp(host, port);
  co_return co_await ask(stream.get(), question);
}

TEST(Pipe, EchoesMoreThanItHolds) {
  Loop loop(ClockMode::Manual);
  auto [near, far] = pipe(100);
  Scope scope;
  scope.spawn(echo(far.get()));
  EXPECT_EQ(loop.run(ask(near.get(), std::string(12345, 'x'))), std::string(12345, 'x'));
}

TEST(Tcp, EchoesMoreThanTheSocketHolds) {
  Loop loop;
  auto listener = Listener::tcp();
  Scope scope;
  scope.spawn(serve_one(&listener));
  const std::string much(20 << 20, 'x');
  EXPECT_EQ(loop.run(over_tcp("127.0.0.1", listener.port(), much)), much);
}

TEST(Tcp, ResolvesNames) {
  Loop loop;
  auto listener = Listener::tcp();
  Scope scope;
  scope.spawn(serve_one(&listener));
  EXPECT_EQ(loop.run(over_tcp("localhost", listener.port(), "hello")), "hello");
}

TEST(Tcp, RefusedNamesTheAddress) {
  Loop loop;
  std::uint16_t port = 0;
  {
    auto listener = Listener::tcp();
    port = listener.port();
  }
  try {
    loop.run(connect_tcp("127.0.0.1", port));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Unavailable);
    EXPECT_EQ(std::string(error.what()), "connect 127.0.0.1:" + std::to_string(port) + ": Connection refused");
  }
}

}  // namespace
}  // namespace kopper::rt
