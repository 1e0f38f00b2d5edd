#pragma once

#include <array>
#include <string>

#include "kopper/rt/detail/fd.h"
#include "kopper/rt/stream.h"

namespace kopper::rt {

// Our end of a pipe to or from a child process, or of its terminal.
class ChildStream final : public Stream {
 public:
  enum class Kind { Pipe, Terminal };
  ChildStream(Fd fd, Kind kind) : fd_(std::move(fd)), kind_(kind) {}

  Task<std::size_t> read(std::span<char> into) override;
  Task<> write(std::string_view bytes) override;
  // Of a terminal: nothing, it has one direction for both.
  Task<> shutdown() override;
  void close() noexcept override;

  // The child is dead: what it wrote can still be read, then the stream ends, whoever else has the other end open.
  void child_ended() noexcept;
  int fd() const { return fd_.get(); }

 private:
  Fd fd_;
  const Kind kind_;
  std::string left_;  // read when the child ended
  bool ended_ = false;
};

// Both ends of a pipe. What the child gets is closed here when the object goes.
struct ChildPipe {
  enum class Ours { ReadEnd, WriteEnd };
  explicit ChildPipe(Ours ours);
  ~ChildPipe();
  ChildPipe(const ChildPipe&) = delete;
  ChildPipe& operator=(const ChildPipe&) = delete;
  void close_theirs();

  Fd ours;
  int theirs = -1;
};

}  // namespace kopper::rt
