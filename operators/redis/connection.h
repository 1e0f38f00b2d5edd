#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/rt/loop.h"
#include "kopper/rt/stream.h"
#include "kopper/rt/task.h"
#include "kopper/rt/tls.h"

#include "resp.h"

namespace redis {

// How the nodes of a cluster are reached. `passwords` are tried in turn until one is taken; none: no AUTH is sent.
// While a password is being changed, both are right for some node.
struct Access {
  std::vector<std::string> passwords;
  std::optional<kopper::rt::TlsContext> tls;
  std::string tls_name;     // what a node's certificate is for; "": its address
  std::string tls_version;  // tells one `tls` from another, which cannot be compared
  kopper::rt::Duration connect_timeout = std::chrono::seconds(2);
  kopper::rt::Duration call_timeout = std::chrono::seconds(5);
};

// A connection to one node. Calls of several coroutines are pipelined, in the order in which they were made.
// Loop-confined. Every call throws Error{Unavailable} or Error{Timeout} when the connection is of no use any more;
// error answers of Redis are values. No password is in any message.
class Connection {
 public:
  // Connects and authenticates. Error{Unauthorized} when no password is taken.
  static kopper::Task<std::shared_ptr<Connection>> open(std::string address, std::uint16_t port, Access access);
  // The same over a stream that is there already. `address` and `port` only name it.
  static kopper::Task<std::shared_ptr<Connection>> over(std::unique_ptr<kopper::rt::Stream> stream, std::string address,
                                                        std::uint16_t port, Access access);
  // Calls that wait for an answer throw.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  kopper::Task<Reply> call(Words words);
  // With another bound than Access::call_timeout; 0: none.
  kopper::Task<Reply> call(Words words, kopper::rt::Duration timeout);
  // All in one write. The answers in the same order.
  kopper::Task<std::vector<Reply>> pipeline(std::vector<Words> commands);
  kopper::Task<std::vector<Reply>> pipeline(std::vector<Words> commands, kopper::rt::Duration timeout);

  // False once it broke.
  bool usable() const;
  const std::string& address() const;
  std::uint16_t port() const;
  // The password that was taken; "" when none was needed.
  const std::string& password() const;

 private:
  struct Impl;
  explicit Connection(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl> impl_;  // shared with the calls that are under way
};

// The connections to the nodes of one cluster, kept from one look at it to the next. Loop-confined.
class Links {
 public:
  Links();
  ~Links();
  Links(Links&&) noexcept;
  Links& operator=(Links&&) noexcept;

  // At any time, and cheap when nothing changed: connections that were made with other keys are dropped.
  void set_access(Access access);
  // The connection to this address; a new one when there is none, or it broke. Who asks while it is being made waits
  // for the same one, and gets the same error.
  kopper::Task<std::shared_ptr<Connection>> get(std::string address, std::uint16_t port = 6379);
  // Keeps only these.
  void keep(const std::vector<std::string>& addresses);

 private:
  struct Door;
  static kopper::Task<std::shared_ptr<Connection>> enter(std::shared_ptr<Door> door, Access access);

  Access access_;
  std::vector<std::shared_ptr<Door>> doors_;
};

}  // namespace redis
