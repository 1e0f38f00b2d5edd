#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "kopper/http/message.h"
#include "kopper/plane/pod_host.h"
#include "kopper/rt/loop.h"

namespace kopper::workloads {

struct LogLimits {
  std::size_t file = std::size_t{10} << 20U;
  std::size_t line = std::size_t{16} << 10U;  // a longer one is cut in parts
};

// The log of one run of one container, in the file format of Kubernetes' container runtimes:
//   2026-01-01T00:00:00.000000001Z stdout F a whole line
//   2026-01-01T00:00:00.000000002Z stderr P the beginning of one
// A full file becomes `path`.1, which replaces the one before. Loop-confined.
class ContainerLog {
 public:
  // Goes on with what is there. Throws Error when the file cannot be written.
  explicit ContainerLog(std::filesystem::path path, LogLimits limits = LogLimits());
  ~ContainerLog();
  ContainerLog(ContainerLog&&) noexcept;
  ContainerLog& operator=(ContainerLog&&) noexcept;

  // What the container wrote. A line is in the log once it is whole; `now` is its time. What does not fit on the disk
  // is lost.
  void append(plane::LogStream stream, std::string_view bytes, rt::WallTime now);
  // The container has ended: who follows comes to an end. Idempotent.
  void end(rt::WallTime now);

  // As a kubelet reads it, `previous` aside. The body may outlive this object, which then counts as ended.
  std::unique_ptr<http::Body> read(const plane::LogOptions& options) const;
  // The same for a run of which only the files are left; Error{NotFound} without them.
  static std::unique_ptr<http::Body> read_files(const std::filesystem::path& path, const plane::LogOptions& options);

  // What is appended from now on, as it comes: for who is attached to the container. May outlive this object.
  class Live;
  std::unique_ptr<Live> listen() const;

 private:
  struct State;
  class Reader;
  std::shared_ptr<State> state_;
};

class ContainerLog::Live {
 public:
  explicit Live(std::shared_ptr<State> state);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  // Nothing once the container has ended. Who does not read loses the oldest beyond 1 MiB.
  Task<std::optional<plane::Attachment::Chunk>> next();

 private:
  friend struct State;
  std::shared_ptr<State> state_;
  std::deque<plane::Attachment::Chunk> chunks_;
  std::size_t size_ = 0;
};

}  // namespace kopper::workloads
