#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "kopper/base/error.h"
#include "kopper/http/handler.h"
#include "kopper/rt/scope.h"
#include "kopper/rt/wait_list.h"

namespace kopper::http {

// A gate that a test opens: what waits at it goes on.
class Gate {
 public:
  Task<> pass() {
    while (!open_) co_await rt::Waiter(waiting_);
  }
  void open() {
    open_ = true;
    waiting_.wake_all();
  }

 private:
  bool open_ = false;
  rt::WaitList waiting_;
};

// A body of `chunks` chunks of `size` bytes; counts those that were read. Waits at `gate` after the first when there is
// one.
class CountingBody final : public Body {
 public:
  CountingBody(std::size_t size, int chunks, int* read, Gate* gate = nullptr)
      : chunk_(size, 'x'), chunks_(chunks), read_(read), gate_(gate) {}

  Task<std::optional<std::string_view>> read() override {
    if (*read_ == chunks_) co_return std::nullopt;
    if (gate_ != nullptr && *read_ == 1) co_await gate_->pass();
    ++*read_;
    co_return chunk_;
  }

 private:
  std::string chunk_;
  int chunks_;
  int* read_;
  Gate* gate_;
};

// A body that breaks after its first chunk.
class BrokenBody final : public Body {
 public:
  Task<std::optional<std::string_view>> read() override {
    if (std::exchange(started_, true)) throw Error(Code::Internal, "the disk is gone");
    co_return "half";
  }

 private:
  bool started_ = false;
};

// The server of the tests. It also counts what it saw.
//   /echo        the request's method, target, selected headers and body
//   /hold        waits at `gate`, then as /echo
//   /stream      many chunks, counted in `chunks_read`
//   /watch       one chunk, then waits at `gate`, then another
//   /broken      a body that breaks
//   /error       throws Error{Conflict}
//   /ws          a WebSocket that echoes; /ws/refused refuses with 403
class TestHandler final : public Handler {
 public:
  Task<Response> handle(Request request) override {
    ++requests;
    last = request;
    const Counted counted(&running);
    if (request.target == "/hold") co_await gate.pass();
    Response response;
    if (request.target == "/stream") {
      response.body = std::make_unique<CountingBody>(10'000, 1'000, &chunks_read);
    } else if (request.target == "/watch") {
      response.body = std::make_unique<CountingBody>(10, 2, &chunks_read, &gate);
    } else if (request.target == "/broken") {
      response.body = std::make_unique<BrokenBody>();
    } else if (request.target == "/error") {
      throw Error(Code::Conflict, "somebody else was first");
    } else if (request.target == "/nothing") {
      response.status = 204;
    } else {
      response = text_response(200, request.method + " " + request.target + " " + request.body);
      response.headers.add("X-Answer", "42");
    }
    co_return response;
  }

  Task<std::unique_ptr<WebSocket>> connect(Request request, std::vector<std::string> subprotocols) override {
    last = request;
    if (request.target != "/ws") {
      Error refused(Code::Forbidden, R"({"kind":"Status","message":"no exec for you"})");
      refused.http_status = 403;
      throw refused;
    }
    auto [here, there] = websocket_pair(subprotocols.empty() ? "" : subprotocols.back());
    tasks_.spawn(echo(std::move(here)));
    co_return std::move(there);
  }

  int requests = 0;
  int running = 0;
  int chunks_read = 0;
  Request last;
  Gate gate;

 private:
  struct Counted {
    explicit Counted(int* c) : counter(c) { ++*counter; }
    ~Counted() { --*counter; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    int* counter;
  };

  static Task<> echo(std::unique_ptr<WebSocket> socket) {
    try {
      while (auto message = co_await socket->receive()) {
        if (message->data == "bye") break;
        co_await socket->send(std::move(*message));
      }
      co_await socket->close();
    } catch (const Error&) {
      // the peer left
    }
  }

  rt::Scope tasks_;
};

}  // namespace kopper::http
