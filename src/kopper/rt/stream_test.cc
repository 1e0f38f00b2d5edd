#include "kopper/rt/stream.h"

#include <array>

#include <gtest/gtest.h>
#include <unistd.h>

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

TEST(Tcp, CloseEndsAPendingRead) {
  Loop loop;
  auto listener = Listener::tcp();
  Scope scope;
  std::unique_ptr<Stream> far;
  scope.spawn(
      [](Listener* from, std::unique_ptr<Stream>* to) -> Task<> { *to = co_await from->accept(); }(&listener, &far));
  const auto near = loop.run(connect_tcp("127.0.0.1", listener.port()));
  loop.run(scope.join());
  std::optional<Code> code;
  scope.spawn([](Stream* stream, std::optional<Code>* out) -> Task<> {
    try {
      co_await read_to_end(stream);
    } catch (const Error& error) {
      *out = error.code;
    }
  }(near.get(), &code));
  loop.poll();
  near->close();
  EXPECT_FALSE(code) << "never inline";
  loop.run(scope.join());
  EXPECT_EQ(code, Code::Unavailable);
}

TEST(Tcp, CancelledReadLosesNothing) {
  Loop loop;
  auto listener = Listener::tcp();
  Scope scope;
  scope.spawn(serve_one(&listener));
  const auto stream = loop.run(connect_tcp("127.0.0.1", listener.port()));
  {
    Scope reading;
    reading.spawn([](Stream* from) -> Task<> { co_await read_to_end(from); }(stream.get()));
    loop.poll();
    reading.cancel();
    loop.run(reading.join());
  }
  EXPECT_EQ(loop.run(ask(stream.get(), "hello")), "hello");
}

TEST(Tcp, SuspendedOperationsMayBeDestroyed) {
  Loop loop;
  auto listener = Listener::tcp();
  const auto near = loop.run(connect_tcp("127.0.0.1", listener.port()));
  const auto far = loop.run(listener.accept());
  {
    Scope scope;
    scope.spawn([](Listener* from) -> Task<> { co_await from->accept(); }(&listener));
    scope.spawn([](Stream* from) -> Task<> { co_await read_to_end(from); }(far.get()));
    scope.spawn([](Stream* to) -> Task<> { co_await to->write(std::string(50 << 20, 'x')); }(near.get()));
    scope.spawn([]() -> Task<> { co_await connect_tcp("localhost", 1); }());
    loop.poll();
  }
  loop.run(yield());
}

TEST(Tcp, TwoReadsAtOnceAreRefused) {
  Loop loop;
  auto listener = Listener::tcp();
  const auto near = loop.run(connect_tcp("127.0.0.1", listener.port()));
  Scope scope;
  scope.spawn([](Stream* from) -> Task<> { co_await read_to_end(from); }(near.get()));
  loop.poll();
  EXPECT_THROW(loop.run(read_to_end(near.get())), Error);
}

TEST(Tcp, WriteToAClosedPeerFails) {
  Loop loop;
  auto listener = Listener::tcp();
  const auto near = loop.run(connect_tcp("127.0.0.1", listener.port()));
  loop.run(listener.accept())->close();
  EXPECT_EQ(loop.run(read_to_end(near.get())), "");
  EXPECT_THROW(loop.run([](Stream* to) -> Task<> {
    const std::string bytes(1 << 20, 'x');
    for (;;) co_await to->write(bytes);
  }(near.get())),
               Error);
}

TEST(Listener, IPv6) {
  Loop loop;
  std::optional<Listener> listener;
  try {
    listener = Listener::tcp("::1");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();  // a machine without IPv6
  }
  Scope scope;
  scope.spawn(serve_one(&*listener));
  EXPECT_EQ(loop.run(over_tcp("::1", listener->port(), "hello")), "hello");
}

TEST(Listener, BadAddressIsNamed) {
  Loop loop;
  EXPECT_THROW(Listener::tcp("localhost"), Error);
  EXPECT_THROW(Listener::unix_socket(std::string(200, 'x')), Error);
}

TEST(Listener, DoesNotReplaceAFileThatIsNoSocket) {
  Loop loop;
  EXPECT_THROW(Listener::unix_socket("/dev/null"), Error);
}

TEST(Listener, CloseEndsAPendingAccept) {
  Loop loop;
  auto listener = Listener::tcp();
  Scope scope;
  scope.spawn(serve_one(&listener));
  loop.poll();
  listener.close();
  EXPECT_THROW(loop.run(scope.join()), Error);
}

TEST(Unix, Echoes) {
  Loop loop;
  const auto path = testing::TempDir() + "rt_test_" + std::to_string(::getpid()) + ".sock";
  {
    auto listener = Listener::unix_socket(path);
    Scope scope;
    scope.spawn(serve_one(&listener));
    const auto stream = loop.run(connect_unix(path));
    EXPECT_EQ(loop.run(ask(stream.get(), "hello")), "hello");
  }
  EXPECT_THROW(loop.run(connect_unix(path)), Error);
}

Task<> write_some(Stream* stream, std::size_t count, bool* done) {
  co_await stream->write(std::string(count, 'x'));
  *done = true;
}

TEST(Pipe, HoldsBackAWriterThatIsTooFast) {
  Loop loop(ClockMode::Manual);
  auto [near, far] = pipe(100);
  bool done = false;
  Scope scope;
  scope.spawn(write_some(near.get(), 150, &done));
  loop.poll();
  EXPECT_FALSE(done);
  std::array<char, 60> buffer;
  EXPECT_EQ(loop.run(far->read(buffer)), 60U);
  loop.poll();
  EXPECT_TRUE(done);
}

TEST(Pipe, CloseOfOneEndEndsTheOther) {
  Loop loop(ClockMode::Manual);
  auto [near, far] = pipe(100);
  loop.run(near->write("left"));
  bool done = false;
  Scope scope;
  scope.spawn(write_some(far.get(), 150, &done));
  loop.poll();
  near->close();
  EXPECT_THROW(loop.run(scope.join()), Error) << "nobody will read";
  EXPECT_EQ(loop.run(read_to_end(far.get())), "left");
}

TEST(Pipe, ReadExactlyTellsAnEarlyEnd) {
  Loop loop(ClockMode::Manual);
  auto [near, far] = pipe(100);
  loop.run(near->write("abcd"));
  loop.run(near->shutdown());
  std::array<char, 3> buffer;
  loop.run(read_exactly(*far, buffer));
  EXPECT_EQ(std::string_view(buffer.data(), 3), "abc");
  EXPECT_THROW(loop.run(read_exactly(*far, buffer)), Error);
}

}  // namespace
}  // namespace kopper::rt
