#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kopper/rt/loop.h"
#include "kopper/rt/task.h"

namespace kopper::rt {

// Bytes in and out: TCP, a Unix socket, TLS, or memory. Loop-confined. One read and one write may be pending at a time;
// the stream outlives both. All throw Error{Unavailable} when the connection breaks or is closed here.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Reads at least one byte into `into` (not empty), which outlives the call; 0 is the end of the stream.
  // Cancelled while it waits: nothing is lost, the next read goes on.
  virtual Task<std::size_t> read(std::span<char> into) = 0;
  // Writes all of `bytes`, which outlive the call. Cancelled: an unknown part is written, so close the stream.
  virtual Task<> write(std::string_view bytes) = 0;
  // Says that no more will be written. Reading goes on.
  virtual Task<> shutdown() = 0;
  // Ends both directions at once. A pending read or write throws in a later turn.
  virtual void close() noexcept = 0;
};

// Reads until `into` is full. Throws Error{Unavailable} when the stream ends before. Both outlive the call.
Task<> read_exactly(Stream& stream, std::span<char> into);

// Two ends of a connection in memory, for tests and in-process servers. `capacity` bytes a direction: a writer waits
// when so much is unread.
std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> pipe(std::size_t capacity = std::size_t{64} << 10U);

struct ConnectOptions {
  // A name may have several addresses: they are tried in turn, each for so long.
  Duration per_address = std::chrono::seconds(10);
};

// Resolves `host` (a name, or an IPv4 or IPv6 address) and connects. Throws Error{Unavailable} naming the address
// and the cause of the last try.
Task<std::unique_ptr<Stream>> connect_tcp(std::string host, std::uint16_t port,
                                          ConnectOptions options = ConnectOptions());
Task<std::unique_ptr<Stream>> connect_unix(std::string path);

// Accepts connections. Bound and listening once constructed.
class Listener {
 public:
  // Port 0: one that is free, see port().
  static Listener tcp(const std::string& address = "127.0.0.1", std::uint16_t port = 0);
  // Replaces a socket that an earlier process left at `path`; takes it away when destroyed.
  static Listener unix_socket(const std::string& path);
  Listener(Listener&&) noexcept;
  Listener& operator=(Listener&&) noexcept;
  ~Listener();

  // One call at a time. Throws Error{Unavailable} when the listener is closed.
  Task<std::unique_ptr<Stream>> accept();
  // A pending accept() throws in a later turn.
  void close() noexcept;
  std::uint16_t port() const;

 private:
  struct Impl;
  explicit Listener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kopper::rt
