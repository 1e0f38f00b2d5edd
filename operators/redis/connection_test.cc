#include "connection.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kopper/base/error.h"
#include "kopper/rt/cert.h"
#include "kopper/rt/process.h"
#include "kopper/rt/scope.h"

namespace redis {
namespace {

using kopper::Code;
using kopper::Error;
using kopper::Task;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace rt = kopper::rt;
using namespace std::chrono_literals;

std::string wire(const Words& words) {
  std::string out;
  encode(words, out);
  return out;
}

// What the code of an error was, or "" and the value.
struct Outcome {
  std::optional<Code> code;
  std::string what;  // the message, or the text of the answer
  bool done = false;
};

Task<> note_call(std::shared_ptr<Connection> connection, Words words, Outcome* outcome) {
  try {
    const auto reply = co_await connection->call(std::move(words));
    outcome->what = reply.text;
  } catch (const Error& error) {
    outcome->code = error.code;
    outcome->what = error.what();
  }
  outcome->done = true;
}

// A connection whose other end is played by the test, on a clock that stands.
class Scripted : public ::testing::Test {
 protected:
  void open(Access access = Access()) {
    auto [near, far] = rt::pipe();
    far_ = std::move(far);
    scope_.spawn(opening(std::move(near), std::move(access)));
    loop_.poll();
  }

  // What was sent to the peer since.
  std::string sent() {
    loop_.poll();
    std::string bytes;
    std::string buffer(4096, '\0');
    bool more = true;
    while (more) {
      more = false;
      rt::Scope reading;
      reading.spawn(read_some(&buffer, &bytes, &more));
      loop_.poll();
    }
    return bytes;
  }

  void answer(std::string_view bytes) {
    loop_.run(far_->write(bytes));
    loop_.poll();
  }

  Outcome& call(Words words) {
    outcomes_.push_back(std::make_unique<Outcome>());
    scope_.spawn(note_call(connection_, std::move(words), outcomes_.back().get()));
    loop_.poll();
    return *outcomes_.back();
  }

  Task<> opening(std::unique_ptr<rt::Stream> near, Access access) {
    try {
      connection_ = co_await Connection::over(std::move(near), "10.0.0.1", 6379, std::move(access));
    } catch (const Error& error) {
      failure_ = error;
    }
  }
  Task<> read_some(std::string* buffer, std::string* bytes, bool* more) {
    const auto size = co_await far_->read(*buffer);
    bytes->append(*buffer, 0, size);
    *more = size > 0;
  }

  rt::Loop loop_{rt::ClockMode::Manual};
  std::unique_ptr<rt::Stream> far_;
  std::shared_ptr<Connection> connection_;
  std::optional<Error> failure_;
  std::vector<std::unique_ptr<Outcome>> outcomes_;
  rt::Scope scope_;
};

TEST_F(Scripted, AnswersGoToWhoAsked) {
  open();
  ASSERT_TRUE(connection_);
  auto& first = call({"GET", "a"});
  auto& second = call({"GET", "b"});
  EXPECT_EQ(sent(), wire({"GET", "a"}) + wire({"GET", "b"}));
  answer("+on");
  EXPECT_FALSE(first.done);
  answer("e\r\n-ERR two\r\n");
  EXPECT_EQ(first.what, "one");
  EXPECT_EQ(second.what, "ERR two");
  EXPECT_FALSE(second.code);
  EXPECT_TRUE(connection_->usable());
}

Task<> note_pipeline(std::shared_ptr<Connection> connection, std::vector<std::string>* texts) {
  std::vector<Words> commands = {{"A"}, {"B"}, {"C"}};
  const auto replies = co_await connection->pipeline(std::move(commands));
  for (const auto& reply : replies) texts->push_back(reply.text);
}

TEST_F(Scripted, APipelineIsOneWrite) {
  open();
  std::vector<std::string> texts;
  scope_.spawn(note_pipeline(connection_, &texts));
  auto& after = call({"D"});
  EXPECT_EQ(sent(), wire({"A"}) + wire({"B"}) + wire({"C"}) + wire({"D"}));
  answer("+a\r\n+b\r\n");
  EXPECT_TRUE(texts.empty());
  answer("+c\r\n+d\r\n");
  EXPECT_THAT(texts, ElementsAre("a", "b", "c"));
  EXPECT_EQ(after.what, "d");
}

// The answer of a call that nobody waits for any more is not the next one's.
TEST_F(Scripted, ACancelledCallKeepsItsAnswer) {
  open();
  Outcome lost;
  {
    rt::Scope scope;
    scope.spawn(note_call(connection_, {"GET", "lost"}, &lost));
    loop_.poll();
  }
  auto& next = call({"GET", "next"});
  answer("+lost\r\n+next\r\n");
  EXPECT_FALSE(lost.done);
  EXPECT_EQ(next.what, "next");
}

TEST_F(Scripted, ATimeoutEndsTheConnection) {
  open();
  auto& first = call({"CLUSTER", "NODES"});
  loop_.advance(1s);
  auto& second = call({"AUTH", "hunter2"});
  loop_.advance(4s);
  EXPECT_EQ(first.code, Code::Timeout);
  EXPECT_EQ(first.what, "redis 10.0.0.1:6379: no answer to CLUSTER NODES within 5000 ms");
  EXPECT_EQ(second.code, Code::Unavailable);
  EXPECT_FALSE(connection_->usable());
  auto& third = call({"PING"});
  EXPECT_EQ(third.code, Code::Unavailable);
  EXPECT_THAT(third.what, HasSubstr("redis 10.0.0.1:6379"));
}

TEST_F(Scripted, TheEndOfTheStreamEndsAllCalls) {
  open();
  auto& first = call({"GET", "a"});
  auto& second = call({"GET", "b"});
  answer("+a\r\n");
  far_->close();
  loop_.poll();
  EXPECT_EQ(first.what, "a");
  EXPECT_EQ(second.code, Code::Unavailable);
  EXPECT_FALSE(connection_->usable());
}

TEST_F(Scripted, WhatIsNoAnswerEndsIt) {
  open();
  auto& first = call({"GET", "a"});
  answer("HTTP/1.1 400 Bad Request\r\n");
  EXPECT_EQ(first.code, Code::Unavailable);
  EXPECT_THAT(first.what, HasSubstr("not an answer of Redis"));

  open();
  answer("-ERR max number of clients reached\r\n");
  EXPECT_THAT(call({"PING"}).what, HasSubstr("max number of clients reached"));
}

Task<> abandon(std::shared_ptr<Connection>* connection, Outcome* outcome) {
  auto task = (*connection)->call({"PING"});
  try {
    co_await task;
  } catch (const Error& error) {
    outcome->code = error.code;
  }
}

TEST_F(Scripted, MayBeDestroyedAtAnyMoment) {
  open();
  auto& waits = call({"PING"});
  Outcome last;
  scope_.spawn(abandon(&connection_, &last));
  loop_.poll();
  connection_.reset();  // note_call still has one
  loop_.poll();
  EXPECT_FALSE(waits.done);
  answer("+PONG\r\n");
  EXPECT_EQ(waits.what, "PONG");
  loop_.poll();
  EXPECT_EQ(last.code, Code::Unavailable);  // its answer was not there when the connection went
  // The peer sees the end.
  std::string buffer(10, '\0');
  (void)sent();
  EXPECT_EQ(loop_.run(far_->read(buffer)), 0U);
}

TEST_F(Scripted, TriesPasswordsInTurn) {
  Access access;
  access.passwords = {"new", "old"};
  open(access);
  EXPECT_EQ(sent(), wire({"AUTH", "new"}));
  answer("-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(sent(), wire({"AUTH", "old"}));
  EXPECT_FALSE(connection_);
  answer("+OK\r\n");
  ASSERT_TRUE(connection_);
  EXPECT_EQ(connection_->password(), "old");
}

TEST_F(Scripted, ANodeWithoutAPasswordTakesAny) {
  Access access;
  access.passwords = {"secret"};
  open(access);
  answer(
      "-ERR AUTH <password> called without any password configured for the default user. Are you sure your "
      "configuration is correct?\r\n");
  ASSERT_TRUE(connection_);
  EXPECT_EQ(connection_->password(), "");
}

TEST_F(Scripted, NoPasswordIsInAMessage) {
  Access access;
  access.passwords = {"hunter1", "hunter2"};
  open(access);
  answer("-WRONGPASS no\r\n");
  answer("-WRONGPASS no\r\n");
  ASSERT_TRUE(failure_);
  EXPECT_EQ(failure_->code, Code::Unauthorized);
  EXPECT_STREQ(failure_->what(), "redis 10.0.0.1:6379: none of the passwords is taken");

  open(access);
  answer("-ERR unknown command 'AUTH', with args beginning with: 'hunter1'\r\n");
  EXPECT_EQ(failure_->code, Code::Unavailable);
  EXPECT_STREQ(failure_->what(), "redis 10.0.0.1:6379: AUTH was refused: ERR");

  open(access);
  loop_.advance(5s);
  EXPECT_EQ(failure_->code, Code::Timeout);
  EXPECT_THAT(failure_->what(), Not(HasSubstr("hunter")));
}

// redis-server on an address of its own.
class Server {
 public:
  explicit Server(std::vector<std::string> settings) {
    static int count = 0;
    const auto number = static_cast<unsigned>(::getpid()) * 8U + static_cast<unsigned>(count++);
    address = fmt::format("127.{}.{}.{}", 64 + (number >> 16U) % 32, (number >> 8U) % 256, number % 256);
    std::string pattern = std::filesystem::temp_directory_path() / "redis-connection-XXXXXX";
    folder = ::mkdtemp(pattern.data());
    rt::ProcessSpec spec;
    spec.argv = {"setpriv",      "--pdeathsig", "KILL",  // whatever ends this program ends it
                 "redis-server", "--bind",      address,     "--dir",    folder, "--save", "",
                 "--daemonize",  "no",          "--logfile", "redis.log"};
    spec.argv.insert(spec.argv.end(), settings.begin(), settings.end());
    process_.emplace(spec);
  }
  ~Server() {
    process_.reset();
    std::filesystem::remove_all(folder);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string address;
  std::string folder;

 private:
  std::optional<rt::Process> process_;
};

// The server may not listen yet.
Task<std::shared_ptr<Connection>> open_soon(std::string address, Access access) {
  for (int tries = 0; tries < 500; ++tries) {
    try {
      co_return co_await Connection::open(address, 6379, access);
    } catch (const Error& error) {
      if (error.code != Code::Unavailable) throw;
    }
    co_await rt::sleep(20ms);
  }
  throw Error(Code::Timeout, "redis-server does not listen");
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(RealServer, TakesThePassword) {
  rt::Loop loop;
  const Server server({"--port", "6379", "--requirepass", "right"});
  Access access;
  access.passwords = {"wrong", "right"};
  const auto connection = loop.run(open_soon(server.address, access));
  EXPECT_EQ(connection->password(), "right");
  EXPECT_EQ(loop.run(connection->call({"SET", "k", "a\r\nb"})).text, "OK");
  EXPECT_EQ(loop.run(connection->call({"GET", "k"})).text, "a\r\nb");
  EXPECT_EQ(loop.run(connection->call({"GET", "none"})).type, Reply::Type::Null);
  EXPECT_EQ(loop.run(connection->call({"MGET", "k", "none"})).items.size(), 2U);
  EXPECT_TRUE(loop.run(connection->call({"NONSENSE"})).is_error("ERR unknown command"));
  access.passwords = {"wrong"};
  try {
    (void)loop.run(open_soon(server.address, access));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Code::Unauthorized);
  }
  access.passwords = {};
  EXPECT_TRUE(loop.run(loop.run(open_soon(server.address, access))->call({"PING"})).is_error("NOAUTH"));
}

TEST(RealServer, WithoutAPasswordTakesAny) {
  rt::Loop loop;
  const Server server({"--port", "6379"});
  Access access;
  access.passwords = {"any"};
  const auto connection = loop.run(open_soon(server.address, access));
  EXPECT_EQ(connection->password(), "");
  EXPECT_EQ(loop.run(connection->call({"PING"})).text, "PONG");
}

TEST(RealServer, SpeaksTls) {
  rt::Loop loop;
  const auto ca = rt::make_ca("test");
  rt::CertificateSpec node;
  node.common_name = "node";
  node.dns_names = {"node.test"};
  const auto key = rt::issue(ca, node);
  std::string pattern = std::filesystem::temp_directory_path() / "redis-tls-XXXXXX";
  const std::string folder = ::mkdtemp(pattern.data());
  write_file(folder + "/ca", ca.cert_pem);
  write_file(folder + "/cert", key.cert_pem);
  write_file(folder + "/key", key.key_pem);
  {
    const Server server({"--port", "0", "--tls-port", "6379", "--tls-ca-cert-file", folder + "/ca", "--tls-cert-file",
                         folder + "/cert", "--tls-key-file", folder + "/key", "--requirepass", "right"});
    rt::TlsClientOptions options;
    options.ca_pem = ca.cert_pem;
    options.cert_pem = key.cert_pem;
    options.key_pem = key.key_pem;
    Access access;
    access.passwords = {"right"};
    access.tls = rt::TlsContext::client(options);
    access.tls_name = "node.test";
    const auto connection = loop.run(open_soon(server.address, access));
    const std::string large(1'000'000, 'x');
    EXPECT_EQ(loop.run(connection->call({"SET", "k", large})).text, "OK");
    EXPECT_EQ(loop.run(connection->call({"GET", "k"})).text, large);
    access.tls_name = "";  // the certificate does not name the address
    try {
      (void)loop.run(open_soon(server.address, access));
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code, Code::Unauthorized);
    }
  }
  std::filesystem::remove_all(folder);
}

// Accepts, counts, and answers nothing.
Task<> accept_all(rt::Listener* listener, std::vector<std::unique_ptr<rt::Stream>>* streams) {
  try {
    while (true) {
      auto stream = co_await listener->accept();
      streams->push_back(std::move(stream));
    }
  } catch (const Error&) {
    // closed
  }
}

struct Listening {
  Listening() { scope.spawn(accept_all(&listener, &streams)); }
  rt::Loop loop;
  rt::Listener listener = rt::Listener::tcp();
  std::vector<std::unique_ptr<rt::Stream>> streams;
  Links links;
  rt::Scope scope;

  std::shared_ptr<Connection> get() { return loop.run(links.get("127.0.0.1", listener.port())); }
};

Task<std::size_t> get_many(Links* links, std::uint16_t port) {
  std::vector<Task<std::shared_ptr<Connection>>> tasks;
  for (int i = 0; i < 10; ++i) tasks.push_back(links->get("127.0.0.1", port));
  auto got = co_await rt::all(std::move(tasks));
  std::ranges::sort(got);
  co_return got.end() - std::ranges::unique(got).begin() == 9 ? got.size() : 0;
}

TEST(LinksTest, OpenOneConnectionForAll) {
  Listening test;
  EXPECT_EQ(test.loop.run(get_many(&test.links, test.listener.port())), 10U);
  const auto link = test.get();
  EXPECT_EQ(test.streams.size(), 1U);
  EXPECT_EQ(test.get(), link);
}

TEST(LinksTest, ReplaceWhatBroke) {
  Listening test;
  const auto link = test.get();
  auto waits = link->call({"PING"}, 0s);
  test.loop.poll();
  while (test.streams.empty()) test.loop.run(rt::yield());
  test.streams[0]->close();
  EXPECT_THROW((void)test.loop.run(std::move(waits)), Error);
  EXPECT_FALSE(link->usable());
  EXPECT_NE(test.get(), link);
}

TEST(LinksTest, KeepWhatIsAskedFor) {
  Listening test;
  const auto link = test.get();
  test.links.keep({"127.0.0.1", "127.0.0.2"});
  EXPECT_EQ(test.get(), link);
  test.links.keep({"127.0.0.2"});
  EXPECT_TRUE(link->usable());  // who has it may go on
  EXPECT_NE(test.get(), link);
}

TEST(LinksTest, OtherKeysMeanOtherConnections) {
  Listening test;
  Access access;
  access.tls_version = "1";
  test.links.set_access(access);
  const auto link = test.get();
  test.links.set_access(access);
  EXPECT_EQ(test.get(), link);
  access.tls_version = "2";
  test.links.set_access(access);
  EXPECT_NE(test.get(), link);
}

Task<std::string> failure_of(Links* links, std::uint16_t port) {
  try {
    (void)co_await links->get("127.0.0.1", port);
  } catch (const Error& error) {
    co_return error.what();
  }
  co_return "";
}

TEST(LinksTest, WhoWaitsGetsTheSameError) {
  Listening test;
  const auto port = test.listener.port();
  test.listener.close();
  std::vector<Task<std::string>> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(failure_of(&test.links, port));
  const auto messages = test.loop.run(rt::all(std::move(tasks)));
  for (const auto& message : messages) EXPECT_THAT(message, HasSubstr("refused"));
}

}  // namespace
}  // namespace redis
