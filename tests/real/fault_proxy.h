#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/rt/channel.h"
#include "kopper/rt/loop.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/stream.h"

namespace kopper::testing {

// A TCP proxy in front of a server on this machine, and the ways in which a network fails. Loop-confined.
class FaultProxy {
 public:
  explicit FaultProxy(std::uint16_t target) : target_(target) {
    flow_.set();
    accepting_.spawn(accept_loop());
  }

  std::uint16_t port() const { return port_; }
  std::size_t accepted() const { return accepted_; }  // connections, until now
  std::size_t open() const { return links_.size(); }

  // What is open falls silent for ever, without a word to either end: a machine that lost its power. What is opened
  // from now on works.
  void freeze() {
    for (auto& link : links_) link.flow = &never_;
  }
  // Nothing gets through until resume(), on new connections neither. Nothing is lost.
  void stall() { flow_.reset(); }
  void resume() { flow_.set(); }
  // What is sent from now on, on any connection, is taken and thrown away.
  void drop(bool on = true) { drop_ = on; }
  // Each piece arrives later by so much.
  void delay(rt::Duration by) { delay_ = by; }
  // Breaks what is open. What is opened from now on works.
  void cut() {
    for (auto& link : links_) link.close();
  }
  // Breaks what is open; who connects is refused, until accept_again().
  void refuse() {
    listener_.close();
    cut();
  }
  void accept_again() {
    listener_ = rt::Listener::tcp("127.0.0.1", port_);
    accepting_.spawn(accept_loop());
  }

 private:
  struct Link {
    rt::Event* flow = nullptr;  // bytes go on while it is set
    std::unique_ptr<rt::Stream> near;
    std::unique_ptr<rt::Stream> far;

    void close() const {
      near->close();
      if (far) far->close();
    }
  };

  Task<> accept_loop() {
    try {
      while (true) {
        auto stream = co_await listener_.accept();
        ++accepted_;
        links_.push_front({.flow = &flow_, .near = std::move(stream), .far = nullptr});
        serving_.spawn(serve(links_.begin()));
      }
    } catch (const Error&) {
      // refuse()
    }
  }

  Task<> serve(std::list<Link>::iterator link) {
    try {
      link->far = co_await rt::connect_tcp("127.0.0.1", target_);
      rt::Scope both;
      both.spawn(copy(&*link, link->near.get(), link->far.get()));
      both.spawn(copy(&*link, link->far.get(), link->near.get()));
      co_await both.join();
    } catch (const Error&) {
      // one of the two is gone, and so will be the other
    }
    links_.erase(link);
  }

  Task<> copy(Link* link, rt::Stream* from, rt::Stream* to) {
    std::string buffer(std::size_t{16} << 10U, '\0');
    while (true) {
      const auto size = co_await from->read(buffer);
      if (size == 0) break;
      if (delay_ > rt::Duration::zero()) co_await rt::sleep(delay_);
      while (!link->flow->is_set()) co_await link->flow->wait();
      if (!drop_) co_await to->write(std::string_view(buffer).substr(0, size));
    }
    co_await to->shutdown();
  }

  std::uint16_t target_;
  rt::Listener listener_ = rt::Listener::tcp();
  std::uint16_t port_ = listener_.port();
  std::size_t accepted_ = 0;
  rt::Event flow_;
  rt::Event never_;
  bool drop_ = false;
  rt::Duration delay_{0};
  std::list<Link> links_;
  rt::Scope serving_;
  rt::Scope accepting_;
};

}  // namespace kopper::testing
