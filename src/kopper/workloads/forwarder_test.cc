#include "kopper/workloads/forwarder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kopper/base/error.h"

namespace kopper::workloads {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Says its name to each connection, then says again what it hears, and ends when the other one has ended.
class Echo {
 public:
  explicit Echo(std::string name) : name_(std::move(name)), listener_(rt::Listener::tcp("127.64.0.1")) {
    tasks_.spawn(accept());
  }
  Address at() const { return {"127.64.0.1", listener_.port()}; }
  void stop() { listener_.close(); }

 private:
  Task<> accept() {
    try {
      for (;;) {
        auto client = co_await listener_.accept();
        tasks_.spawn(serve(std::move(client)));
      }
    } catch (const Error&) {
      co_return;
    }
  }
  Task<> serve(std::unique_ptr<rt::Stream> client) {
    try {
      co_await client->write(name_);
      std::vector<char> buffer(1000);
      for (;;) {
        const auto n = co_await client->read(buffer);
        if (n == 0) break;
        co_await client->write(std::string_view(buffer.data(), n));
      }
      co_await client->write("bye");
      co_await client->shutdown();
    } catch (const Error&) {
      co_return;
    }
  }

  std::string name_;
  rt::Listener listener_;
  rt::Scope tasks_;
};

struct ForwarderTest : ::testing::Test {
  ForwarderTest() {
    // One that is free on the service's address.
    front.at = {"127.96.0.9", rt::Listener::tcp("127.96.0.9").port()};
  }
  void offer(std::vector<Address> backends) {
    front.backends = std::move(backends);
    EXPECT_THAT(forwarder.set(service, {front}), ElementsAre());
  }
  std::unique_ptr<rt::Stream> connect() { return loop.run(rt::connect_tcp(front.at.ip, front.at.port)); }
  std::string read(rt::Stream& stream, std::size_t size) {
    std::string text(size, ' ');
    loop.run(rt::read_exactly(stream, text));
    return text;
  }
  bool ended(rt::Stream& stream) {
    char one = 0;
    try {
      return loop.run(stream.read({&one, 1})) == 0;
    } catch (const Error&) {
      return true;
    }
  }
  std::string who(int times = 1) {
    std::string names;
    while (times-- > 0) {
      const auto stream = connect();
      names += read(*stream, 1);
    }
    return names;
  }
  bool refused() {
    try {
      const auto stream = connect();
      return false;
    } catch (const Error& error) {
      return std::string_view(error.what()).find("refused") != std::string_view::npos;
    }
  }

  rt::Loop loop;
  Key service{"shop", "web"};
  Front front;
  Forwarder forwarder;
  Echo a{"a"};
  Echo b{"b"};
};

TEST_F(ForwarderTest, BackendsTakeTurns) {
  offer({a.at(), b.at()});
  EXPECT_EQ(who(4), "abab");
}

TEST_F(ForwarderTest, CarriesBothWaysAndHalfCloses) {
  offer({a.at()});
  const auto stream = connect();
  EXPECT_EQ(read(*stream, 1), "a");
  const std::string much(200'000, 'x');
  rt::Scope writing;
  writing.spawn(stream->write(much));
  EXPECT_EQ(read(*stream, much.size()), much);
  loop.run(writing.join());
  loop.run(stream->shutdown());
  EXPECT_EQ(read(*stream, 3), "bye");
  EXPECT_TRUE(ended(*stream));
}

TEST_F(ForwarderTest, PassesOverWhoDoesNotAnswer) {
  offer({a.at(), b.at()});
  a.stop();
  EXPECT_EQ(who(3), "bbb");
}

TEST_F(ForwarderTest, NobodyReadyIsRefused) {
  EXPECT_TRUE(refused());
  offer({a.at()});
  EXPECT_FALSE(refused());
  offer({});
  EXPECT_TRUE(refused());
  offer({b.at()});
  EXPECT_EQ(who(), "b");
  b.stop();
  EXPECT_TRUE(ended(*connect())) << "ready, but gone";
  forwarder.remove(service);
  EXPECT_TRUE(refused());
}

TEST_F(ForwarderTest, ConnectionsOutliveTheirBackendsTurn) {
  offer({a.at()});
  const auto stream = connect();
  EXPECT_EQ(read(*stream, 1), "a");
  offer({b.at()});
  EXPECT_EQ(who(), "b");
  forwarder.remove(service);
  loop.run(stream->write("still"));
  EXPECT_EQ(read(*stream, 5), "still");
  loop.run(stream->shutdown());
  EXPECT_EQ(read(*stream, 3), "bye");
}

TEST_F(ForwarderTest, StickyFrontsStayUntilNobodyCame) {
  front.sticky = std::chrono::seconds(60);
  offer({a.at(), b.at()});
  EXPECT_EQ(who(3), "aaa");
  loop.advance(std::chrono::seconds(50));
  EXPECT_EQ(who(), "a");
  loop.advance(std::chrono::seconds(61));
  EXPECT_EQ(who(2), "bb");
  offer({a.at()});
  EXPECT_EQ(who(), "a");
}

TEST_F(ForwarderTest, SaysWhatIsTaken) {
  const auto other = rt::Listener::tcp(front.at.ip, front.at.port);
  front.backends = {a.at()};
  EXPECT_THAT(forwarder.set(service, {front}), ElementsAre(HasSubstr("listen on " + front.at.str())));

  Front second = front;
  second.at.port = rt::Listener::tcp("127.96.0.9").port();
  EXPECT_THAT(forwarder.set(service, {second}), ElementsAre());
  EXPECT_THAT(forwarder.set(Key("shop", "other"), {second}),
              ElementsAre("listen on " + second.at.str() + ": service shop/web has it"));
}

TEST_F(ForwarderTest, WaitsWhenThereAreTooMany) {
  Forwarder small(1);
  front.backends = {a.at()};
  EXPECT_THAT(small.set(service, {front}), ElementsAre());
  auto first = connect();
  EXPECT_EQ(read(*first, 1), "a");
  const auto second = connect();
  EXPECT_EQ(small.connections(), 1U);
  first.reset();
  EXPECT_EQ(read(*second, 1), "a");
}

}  // namespace
}  // namespace kopper::workloads
