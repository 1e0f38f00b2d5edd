#include "connection.h"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/scope.h"

namespace redis {

using kopper::Code;
using kopper::Error;
using kopper::Task;
namespace rt = kopper::rt;

namespace {

// For messages: never an argument, which may be a secret.
std::string name_of(const Words& words) {
  if (words.empty()) return "nothing";
  return words.size() > 1 && words[0] == "CLUSTER" ? words[0] + ' ' + words[1] : words[0];
}

bool contains_one(std::string_view text, const std::vector<std::string>& secrets) {
  return std::ranges::any_of(secrets, [&](const auto& secret) { return !secret.empty() && text.contains(secret); });
}

Task<std::unique_ptr<rt::Stream>> reach(std::string address, std::uint16_t port, Access access) {
  rt::ConnectOptions options;
  options.per_address = access.connect_timeout;
  auto stream = co_await rt::connect_tcp(address, port, options);
  if (!access.tls) co_return std::move(stream);
  const auto name = access.tls_name.empty() ? address : access.tls_name;
  std::unique_ptr<rt::Stream> secured = co_await rt::TlsStream::client(std::move(stream), *access.tls, name);
  co_return std::move(secured);
}

}  // namespace

struct Connection::Impl {
  // Commands that were sent together, and their answers. The caller shares it with waiting_: who is cancelled leaves it
  // there, so that its answers do not go to the next.
  struct Pending {
    std::size_t missing = 0;
    std::vector<Reply> replies;
    std::optional<Error> error;
    rt::Event done;
  };

  Impl(std::unique_ptr<rt::Stream> a_stream, std::string an_address, std::uint16_t a_port, rt::Duration timeout)
      : address(std::move(an_address)), port(a_port), call_timeout(timeout), stream_(std::move(a_stream)) {
    scope_.spawn(write());
    scope_.spawn(read());
  }

  void fail(Error error) noexcept {
    if (broken_) return;
    broken_ = std::move(error).with(name());
    stream_->close();
    for (const auto& pending : waiting_) {
      pending->error = broken_;
      pending->done.set();
    }
    waiting_.clear();
  }
  bool usable() const { return !broken_; }
  std::string name() const { return fmt::format("redis {}:{}", address, port); }

  static Task<std::vector<Reply>> call_all(std::shared_ptr<Impl> self, std::vector<Words> commands,
                                           rt::Duration timeout) {
    if (self->broken_) throw Error(*self->broken_);
    if (commands.empty()) co_return std::vector<Reply>();
    const auto pending = std::make_shared<Pending>();
    pending->missing = commands.size();
    for (const auto& command : commands) encode(command, self->out_);
    self->waiting_.push_back(pending);
    self->more_.wake_one();
    if (timeout == rt::Duration::zero()) {
      co_await pending->done.wait();
    } else {
      try {
        co_await rt::timeout(timeout, pending->done.wait());
      } catch (const Error& error) {
        if (error.code != Code::Timeout) throw;
        // The answer may still come, and would be taken for that to a later call.
        self->fail(Error(Code::Unavailable, "an earlier call was not answered in time"));
        throw Error(Code::Timeout, fmt::format("{}: no answer to {} within {} ms", self->name(), name_of(commands[0]),
                                               std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()));
      }
    }
    if (pending->error) throw Error(*pending->error);
    co_return std::move(pending->replies);
  }

  static Task<Reply> call_one(std::shared_ptr<Impl> self, Words words, rt::Duration timeout) {
    std::vector<Words> commands;
    commands.push_back(std::move(words));
    auto replies = co_await call_all(std::move(self), std::move(commands), timeout);
    co_return std::move(replies.front());
  }

  const std::string address;
  const std::uint16_t port;
  const rt::Duration call_timeout;
  std::string password;

 private:
  Task<> write() {
    try {
      while (true) {
        while (out_.empty()) co_await rt::Waiter(more_);
        const auto bytes = std::exchange(out_, {});
        co_await stream_->write(bytes);
      }
    } catch (const Error& error) {
      fail(Error(Code::Unavailable, error.message));
    }
  }

  Task<> read() {
    try {
      std::string buffer(std::size_t{64} << 10U, '\0');
      while (true) {
        const auto size = co_await stream_->read(buffer);
        if (size == 0) throw Error(Code::Unavailable, "it closed the connection");
        decoder_.feed(std::string_view(buffer).substr(0, size));
        take_replies();
      }
    } catch (const Error& error) {
      fail(Error(Code::Unavailable, error.message));
    }
  }

  void take_replies() {
    while (true) {
      auto reply = decoder_.next();
      if (!reply) throw Error(reply.error());
      if (!*reply) return;
      // What a node says before it hangs up: "max number of clients reached".
      if (waiting_.empty()) {
        throw Error(Code::Unavailable, (*reply)->is_error() ? (*reply)->text : "an answer to nothing");
      }
      auto& first = *waiting_.front();
      first.replies.push_back(std::move(**reply));
      if (--first.missing > 0) continue;
      first.done.set();
      waiting_.pop_front();
    }
  }

  std::unique_ptr<rt::Stream> stream_;
  Decoder decoder_;
  std::string out_;
  rt::WaitList more_;  // the writer, when out_ is empty
  std::deque<std::shared_ptr<Pending>> waiting_;
  std::optional<Error> broken_;
  rt::Scope scope_;
};

Connection::Connection(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Connection::~Connection() { impl_->fail(Error(Code::Unavailable, "closed")); }

Task<std::shared_ptr<Connection>> Connection::open(std::string address, std::uint16_t port, Access access) {
  std::unique_ptr<rt::Stream> stream;
  try {
    stream = co_await rt::timeout(access.connect_timeout, reach(address, port, access));
  } catch (Error& error) {
    throw std::move(error).with(fmt::format("redis {}:{}", address, port));
  }
  co_return co_await over(std::move(stream), address, port, access);
}

Task<std::shared_ptr<Connection>> Connection::over(std::unique_ptr<rt::Stream> stream, std::string address,
                                                   std::uint16_t port, Access access) {
  auto impl = std::make_shared<Impl>(std::move(stream), std::move(address), port, access.call_timeout);
  std::shared_ptr<Connection> connection(new Connection(impl));
  if (access.passwords.empty()) co_return connection;
  for (const auto& password : access.passwords) {
    Words words = {"AUTH", password};
    const auto reply = co_await connection->call(std::move(words));
    if (!reply.is_error()) {
      impl->password = password;
      co_return connection;
    }
    // Redis 6 and newer; before. Everybody may come in.
    if (reply.text.contains("without any password configured") || reply.text.contains("no password is set"))
      co_return connection;
    if (reply.is_error("WRONGPASS") || reply.is_error("ERR invalid password")) continue;
    // A node that does not know AUTH repeats its arguments.
    throw Error(
        Code::Unavailable,
        impl->name() + ": AUTH was refused: " +
            (contains_one(reply.text, access.passwords) ? reply.text.substr(0, reply.text.find(' ')) : reply.text));
  }
  throw Error(Code::Unauthorized, fmt::format("{}: {}", impl->name(),
                                              access.passwords.size() == 1 ? "the password is not taken"
                                                                           : "none of the passwords is taken"));
}

Task<Reply> Connection::call(Words words) { return call(std::move(words), impl_->call_timeout); }
Task<Reply> Connection::call(Words words, rt::Duration timeout) {
  return Impl::call_one(impl_, std::move(words), timeout);
}
Task<std::vector<Reply>> Connection::pipeline(std::vector<Words> commands) {
  return pipeline(std::move(commands), impl_->call_timeout);
}
Task<std::vector<Reply>> Connection::pipeline(std::vector<Words> commands, rt::Duration timeout) {
  return Impl::call_all(impl_, std::move(commands), timeout);
}

bool Connection::usable() const { return impl_->usable(); }
const std::string& Connection::address() const { return impl_->address; }
std::uint16_t Connection::port() const { return impl_->port; }
const std::string& Connection::password() const { return impl_->password; }

struct Links::Door {
  std::string address;
  std::uint16_t port = 0;
  std::shared_ptr<Connection> link;
  rt::Semaphore turn{1};
  std::uint64_t failures = 0;
  std::optional<Error> error;  // of the last
};

Links::Links() = default;
Links::~Links() = default;
Links::Links(Links&&) noexcept = default;
Links& Links::operator=(Links&&) noexcept = default;

void Links::set_access(Access access) {
  const bool same = access.passwords == access_.passwords && access.tls_name == access_.tls_name &&
                    access.tls.has_value() == access_.tls.has_value() && access.tls_version == access_.tls_version;
  access_ = std::move(access);
  if (!same) doors_.clear();
}

Task<std::shared_ptr<Connection>> Links::get(std::string address, std::uint16_t port) {
  auto found =
      std::ranges::find_if(doors_, [&](const auto& door) { return door->address == address && door->port == port; });
  if (found == doors_.end()) {
    auto door = std::make_shared<Door>();
    door->address = std::move(address);
    door->port = port;
    found = doors_.insert(doors_.end(), std::move(door));
  }
  return enter(*found, access_);
}

Task<std::shared_ptr<Connection>> Links::enter(std::shared_ptr<Door> door, Access access) {
  if (door->link && door->link->usable()) co_return door->link;
  const auto failures = door->failures;
  const auto permit = co_await door->turn.acquire();
  if (door->link && door->link->usable()) co_return door->link;
  if (door->failures != failures) throw Error(*door->error);
  try {
    door->link = co_await Connection::open(door->address, door->port, access);
  } catch (const Error& error) {
    ++door->failures;
    door->error = error;
    throw;
  }
  co_return door->link;
}

void Links::keep(const std::vector<std::string>& addresses) {
  std::erase_if(doors_,
                [&](const auto& door) { return std::ranges::find(addresses, door->address) == addresses.end(); });
}

}  // namespace redis
