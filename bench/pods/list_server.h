#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kopper/http/handler.h"
#include "kopper/rt/loop.h"

namespace kopper::bench {

// Serves one list in chunks, then a watch that says nothing.
class ListServer final : public http::Handler {
 public:
  explicit ListServer(std::string list) : list_(std::move(list)) {}
  Task<http::Response> handle(http::Request request) override {
    http::Response response;
    if (request.target.contains("watch=true")) {
      response.body = std::make_unique<Silence>();
    } else {
      response.body = std::make_unique<Chunks>(list_);
    }
    co_return response;
  }

 private:
  class Chunks final : public http::Body {
   public:
    explicit Chunks(std::string_view rest) : rest_(rest) {}
    Task<std::optional<std::string_view>> read() override {
      if (rest_.empty()) co_return std::nullopt;
      const auto chunk = rest_.substr(0, 16384);
      rest_.remove_prefix(chunk.size());
      co_return chunk;
    }

   private:
    std::string_view rest_;
  };
  class Silence final : public http::Body {
   public:
    Task<std::optional<std::string_view>> read() override {
      co_await rt::sleep(std::chrono::hours(1));
      co_return std::nullopt;
    }
  };
  std::string list_;
};

}  // namespace kopper::bench
