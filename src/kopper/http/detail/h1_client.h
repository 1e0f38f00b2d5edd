#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kopper/base/error.h"
#include "kopper/http/detail/h1.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/wait_list.h"

namespace kopper::http::detail {

// One HTTP/1.1 connection of a client.
struct H1Connection {
  H1Connection(std::unique_ptr<rt::Stream> s, std::size_t max_header_bytes)
      : stream(std::move(s)), reader(*stream, H1Reader::Kind::Responses, max_header_bytes) {}

  std::unique_ptr<rt::Stream> stream;
  H1Reader reader;
  bool reused = false;
  rt::TimePoint idle_since;
};

// The connections of one client. Bodies share it, since they bring their connection back and may outlive the client.
struct H1Pool {
  std::vector<std::unique_ptr<H1Connection>> idle;
  std::size_t open = 0;  // in use
  rt::WaitList waiting;  // for `open` to become less
  bool closed = false;   // the client is gone

  std::unique_ptr<H1Connection> take_idle();
};

// A connection in use. Goes back to the pool by give_back(); end() closes it.
class H1Lease {
 public:
  explicit H1Lease(std::shared_ptr<H1Pool> pool) : pool_(std::move(pool)) { ++pool_->open; }
  H1Lease(H1Lease&&) noexcept = default;
  H1Lease& operator=(H1Lease&&) = delete;
  ~H1Lease() { end(); }

  void give_back();
  void end();

  std::unique_ptr<H1Connection> connection;

 private:
  std::shared_ptr<H1Pool> pool_;
};

// Sends `request` (which outlives the await) and waits for the head of the response. An Error is stale() when the
// connection was a used one that the server had closed meanwhile, and the request may be sent again.
Task<Response> exchange(H1Lease lease, const Request& request, std::string target, std::string authority);
bool stale(const Error& error);

}  // namespace kopper::http::detail
