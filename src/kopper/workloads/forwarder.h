#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kopper/base/key.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"

namespace kopper::workloads {

struct Address {
  std::string ip;
  std::uint16_t port = 0;

  std::string str() const;
  friend auto operator<=>(const Address&, const Address&) = default;
};

// An address of a service, and who answers there.
struct Front {
  Address at;
  std::vector<Address> backends;
  std::optional<std::chrono::seconds> sticky;  // all go to the same backend until nobody came for so long

  friend bool operator==(const Front&, const Front&) = default;
};

// Carries TCP connections from services' addresses to their pods. Backends take turns; one that does not answer is
// passed over. A connection stays with its backend until one of both ends it, whatever becomes of the service. A front
// without backends is not listened on: who connects is refused at once, as on a real cluster. Clients of one machine
// all look the same here, so that a sticky service has one backend at a time. Loop-confined.
class Forwarder {
 public:
  explicit Forwarder(std::size_t max_connections = 4096);
  ~Forwarder();
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  // What a service offers now, in place of before. Returns why some cannot be listened on: "listen on …: …". They are
  // tried again by the next call.
  std::vector<std::string> set(const Key& service, std::vector<Front> fronts);
  void remove(const Key& service) { set(service, {}); }

  std::size_t connections() const { return connections_; }

 private:
  struct Port;

  Task<> accept(std::shared_ptr<Port> port);
  Task<> carry(std::shared_ptr<Port> port, std::unique_ptr<rt::Stream> client);
  Task<std::unique_ptr<rt::Stream>> connect(std::shared_ptr<Port> port);

  rt::Semaphore room_;
  std::size_t connections_ = 0;
  std::map<Address, std::shared_ptr<Port>> ports_;
  rt::Scope tasks_;
};

}  // namespace kopper::workloads
