#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "kopper/base/error.h"
#include "kopper/plane/pod_host.h"
#include "kopper/rt/channel.h"

namespace kopper::plane {

// Runs commands on this machine as if it were the container; its one attachment echoes what it is given.
class TestHost final : public PodHost {
 public:
  Task<std::unique_ptr<http::Body>> log(ContainerRef container, LogOptions options) override {
    asked = std::move(container);
    asked_options = options;
    if (no_log) throw Error(Code::NotFound, "the log is gone");
    co_return http::whole("a line\n");
  }
  rt::ProcessSpec enter(const ContainerRef& container, const std::vector<std::string>& command, bool tty) override {
    asked = container;
    if (!no_entry.empty()) throw Error(Code::Internal, no_entry);
    rt::ProcessSpec spec;
    spec.argv = command;
    spec.env = {{"CONTAINER", container.name}};
    if (tty) spec.env.emplace_back("TERM", "xterm");
    return spec;
  }
  std::unique_ptr<Attachment> attach(const ContainerRef& container) override {
    asked = container;
    return std::make_unique<Echo>();
  }
  Task<std::unique_ptr<rt::Stream>> dial(ContainerRef pod, std::uint16_t port) override {
    asked = std::move(pod);
    return rt::connect_tcp("127.0.0.1", port);
  }

  ContainerRef asked;
  LogOptions asked_options;
  bool no_log = false;
  std::string no_entry;

 private:
  class Echo final : public Attachment {
   public:
    Task<std::optional<Chunk>> read() override { return chunks_.receive(); }
    Task<> write(std::string_view bytes) override {
      Chunk chunk;
      chunk.is_error = bytes.starts_with("!");
      chunk.bytes = bytes;
      co_await chunks_.send(std::move(chunk));
    }
    Task<> end_input() override {
      chunks_.close();
      co_return;
    }
    void resize(std::uint16_t, std::uint16_t) noexcept override {}

   private:
    rt::Channel<Chunk> chunks_{10};
  };
};

}  // namespace kopper::plane
