#include "kopper/workloads/forwarder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kopper/base/error.h"
#include "kopper/base/log.h"

namespace kopper::workloads {

namespace {

constexpr std::size_t kBuffer = std::size_t{32} << 10U;
constexpr auto kConnectTime = std::chrono::seconds(2);

// One direction. What breaks one end ends both. outlives: carry() owns the streams and waits
Task<> pump(rt::Stream* from, rt::Stream* to) {
  try {
    std::vector<char> buffer(kBuffer);
    for (;;) {
      const auto n = co_await from->read(buffer);
      if (n == 0) break;
      co_await to->write(std::string_view(buffer.data(), n));
    }
    co_await to->shutdown();
  } catch (const Error&) {
    from->close();
    to->close();
  }
}

class Counted {
 public:
  explicit Counted(std::size_t& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::size_t& count_;
};

}  // namespace

std::string Address::str() const { return fmt::format("{}:{}", ip, port); }

struct Forwarder::Port {
  Port(Key owner, Front what)
      : service(std::move(owner)), front(std::move(what)), listener(rt::Listener::tcp(front.at.ip, front.at.port)) {}

  // Backends in the order to try them.
  std::vector<Address> turn(rt::TimePoint now) {
    auto order = front.backends;
    if (order.empty()) return order;
    auto first = std::ranges::find(order, last);
    const bool stays = front.sticky && now < sticks_until && first != order.end();
    if (!stays) first = order.begin() + static_cast<std::ptrdiff_t>(next++ % order.size());
    std::ranges::rotate(order, first);
    return order;
  }
  void went_to(const Address& backend, rt::TimePoint now) {
    last = backend;
    if (front.sticky) sticks_until = now + *front.sticky;
  }

  const Key service;
  Front front;
  rt::Listener listener;
  bool closed = false;
  std::size_t next = 0;
  Address last;
  rt::TimePoint sticks_until;
};

Forwarder::Forwarder(std::size_t max_connections) : room_(max_connections) {}

Forwarder::~Forwarder() = default;

std::vector<std::string> Forwarder::set(const Key& service, std::vector<Front> fronts) {
  std::erase_if(fronts, [](const Front& front) { return front.backends.empty(); });
  std::erase_if(ports_, [&](const auto& entry) {
    auto& port = *entry.second;
    if (port.service != service || std::ranges::find(fronts, port.front.at, &Front::at) != fronts.end()) return false;
    port.closed = true;
    port.listener.close();
    return true;
  });
  std::vector<std::string> problems;
  for (auto& front : fronts) {
    const auto found = ports_.find(front.at);
    if (found != ports_.end() && found->second->service == service) {
      found->second->front = std::move(front);
      continue;
    }
    if (found != ports_.end()) {
      problems.push_back(fmt::format("listen on {}: service {} has it", front.at.str(), found->second->service.str()));
      continue;
    }
    try {
      const auto at = front.at;
      const auto port = std::make_shared<Port>(service, std::move(front));
      ports_.emplace(at, port);
      tasks_.spawn(accept(port));
    } catch (const Error& error) {
      problems.emplace_back(error.what());
    }
  }
  return problems;
}

Task<> Forwarder::accept(std::shared_ptr<Port> port) {
  while (!port->closed) {
    bool failed = false;
    try {
      auto client = co_await port->listener.accept();
      tasks_.spawn(carry(port, std::move(client)));
    } catch (const Error& error) {
      if (port->closed) co_return;
      log::warn("cannot accept", {{"address", port->front.at.str()}, {"error", error.what()}});
      failed = true;
    }
    if (failed) co_await rt::sleep(std::chrono::milliseconds(100));  // too many open files, say: they become fewer
  }
}

Task<std::unique_ptr<rt::Stream>> Forwarder::connect(std::shared_ptr<Port> port) {
  const rt::ConnectOptions options{.per_address = kConnectTime};
  const auto order = port->turn(rt::Loop::current().now());
  for (const auto& backend : order) {
    try {
      auto stream = co_await rt::connect_tcp(backend.ip, backend.port, options);
      port->went_to(backend, rt::Loop::current().now());
      co_return stream;
    } catch (const Error& error) {
      log::debug("a pod does not answer", {{"service", port->service.str()}, {"error", error.what()}});
    }
  }
  co_return nullptr;
}

Task<> Forwarder::carry(std::shared_ptr<Port> port, std::unique_ptr<rt::Stream> client) {
  const auto permit = co_await room_.acquire();
  const Counted counted(connections_);
  const auto backend = co_await connect(std::move(port));
  if (!backend) co_return;
  rt::Scope both;
  both.spawn(pump(client.get(), backend.get()));
  both.spawn(pump(backend.get(), client.get()));
  co_await both.join();
}

}  // namespace kopper::workloads
