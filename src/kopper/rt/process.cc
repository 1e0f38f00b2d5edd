#include "kopper/rt/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kopper/base/error.h"
#include "kopper/rt/detail/child_stream.h"
#include "kopper/rt/detail/fd.h"
#include "kopper/rt/scope.h"

namespace kopper::rt {

std::string ExitStatus::str() const {
  if (signal != 0) return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("exit code {}", code);
}

struct Process::Impl {
  ~Impl();
  void reap() noexcept;

  int pid = -1;
  Fd pidfd;
  std::optional<ExitStatus> status;
  std::unique_ptr<ChildStream> input;  // of a terminal: null, its only stream is `output`
  std::unique_ptr<ChildStream> output;
  std::unique_ptr<ChildStream> errors;
  std::unique_ptr<ChildStream> info_stream;
  bool terminal = false;
};

// The dead leader keeps the group's number from being used again until it is reaped: so first the group, then the
// leader.
void Process::Impl::reap() noexcept {
  ::kill(-pid, SIGKILL);
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  status.emplace();
  if (info.si_code == CLD_EXITED) {
    status->code = info.si_status;
  } else {
    status->signal = info.si_status;
    status->code = 128 + info.si_status;
  }
  for (auto* stream : {output.get(), errors.get(), info_stream.get()}) {
    if (stream != nullptr) stream->child_ended();
  }
  if (input != nullptr) input->close();
}

Process::Impl::~Impl() {
  if (pid > 0 && !status) reap();
}

namespace {

constexpr int kInfoFd = 3;

// A plain descriptor for the child; ours is closed once it runs.
class ChildFd {
 public:
  ChildFd(int fd, std::string_view what) : fd_(fd) {
    if (fd_ < 0) throw errno_error(what, errno, Code::Internal);
  }
  ChildFd(const ChildFd&) = delete;
  ChildFd& operator=(const ChildFd&) = delete;
  ~ChildFd() { ::close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A memory file, not a pipe: nobody has to write while the child reads, and a child that does not read harms nobody.
int open_input(const std::string& bytes) {
  if (bytes.empty()) return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int fd = ::memfd_create("stdin", MFD_CLOEXEC);
  std::string_view left = bytes;
  while (fd >= 0 && !left.empty()) {
    const auto n = ::write(fd, left.data(), left.size());
    if (n < 0) {
      ::close(fd);
      return -1;
    }
    left.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fd >= 0) ::lseek(fd, 0, SEEK_SET);
  return fd;
}

std::vector<std::string> environment(const ProcessSpec& spec) {
  std::vector<std::string> merged;
  const auto replaced = [&](std::string_view entry) {
    for (const auto& [name, value] : spec.env) {
      if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return true;
    }
    return false;
  };
  for (char** entry = environ; !spec.clear_env && *entry != nullptr; ++entry) {
    if (!replaced(*entry)) merged.emplace_back(*entry);
  }
  for (const auto& [name, value] : spec.env) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> found;
  found.reserve(strings.size() + 1);
  for (auto& text : strings) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

// posix_spawn cannot set limits, and setting them afterwards would be too late for what the program does first.
std::vector<std::string> limited(const ProcessSpec& spec) {
  if (spec.limits.empty()) return spec.argv;
  std::vector<std::string> argv{"prlimit"};
  for (const auto& [name, value] : spec.limits) argv.push_back(fmt::format("--{}={}", name, value));
  argv.emplace_back("--");
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  return argv;
}

// posix_spawn's two parameter objects.
struct SpawnOptions {
  // A session leader leads a process group too.
  explicit SpawnOptions(int group_or_session) {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    const int flags = group_or_session | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  }
  ~SpawnOptions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

// What becomes 0, 1, 2 and 3 of the child; nothing else is passed on.
struct ChildFds {
  int in = -1;
  int out = -1;
  int err = -1;
  int info = -1;
  std::string terminal;  // instead of the first three: the device to open, which so may become the controlling terminal
};

std::unique_ptr<Process::Impl> spawn(const ProcessSpec& spec, const ChildFds& fds) {
  if (spec.argv.empty()) throw Error(Code::Invalid, "run a program: none is named");
  SpawnOptions options(fds.terminal.empty() ? POSIX_SPAWN_SETPGROUP : POSIX_SPAWN_SETSID);
  if (fds.terminal.empty()) {
    posix_spawn_file_actions_adddup2(&options.actions, fds.in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&options.actions, fds.out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&options.actions, fds.err, STDERR_FILENO);
  } else {
    const int flags = O_RDWR | (spec.takes_terminal ? O_NOCTTY : 0);
    posix_spawn_file_actions_addopen(&options.actions, STDIN_FILENO, fds.terminal.c_str(), flags, 0);
    posix_spawn_file_actions_adddup2(&options.actions, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&options.actions, STDIN_FILENO, STDERR_FILENO);
  }
  if (fds.info >= 0) posix_spawn_file_actions_adddup2(&options.actions, fds.info, kInfoFd);
  posix_spawn_file_actions_addclosefrom_np(&options.actions, fds.info >= 0 ? kInfoFd + 1 : kInfoFd);
  if (!spec.cwd.empty()) posix_spawn_file_actions_addchdir_np(&options.actions, spec.cwd.c_str());
  auto argv = limited(spec);
  auto env = environment(spec);
  auto process = std::make_unique<Process::Impl>();
  const int error = ::posix_spawnp(&process->pid, argv.front().c_str(), &options.actions, &options.attributes,
                                   pointers(argv).data(), pointers(env).data());
  if (error != 0) {
    process->pid = -1;
    throw errno_error("run " + spec.argv.front(), error, Code::Invalid);
  }
  // Debian 12 declares pidfd_open() without extern "C".
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, process->pid, 0));
  if (pidfd < 0) throw errno_error("pidfd_open", errno, Code::Internal);
  process->pidfd = Fd(pidfd);
  return process;
}

Task<> until_ended(Process::Impl* process) {
  while (!process->status) {
    co_await process->pidfd.readable();
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(process->pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid != 0) process->reap();
  }
}

Task<> drain(const Fd* fd, std::size_t limit, std::string* into, bool* truncated) {
  std::array<char, 16384> buffer;
  for (;;) {
    const auto n = ::read(fd->get(), buffer.data(), buffer.size());
    if (n == 0) co_return;
    if (n > 0) {
      const auto keep = std::min(limit - into->size(), static_cast<std::size_t>(n));
      into->append(buffer.data(), keep);
      *truncated |= keep < static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      co_await fd->readable();
    } else if (errno != EINTR) {
      throw errno_error("read the output of a program", errno);
    }
  }
}

}  // namespace

Task<ProcessResult> run_process(ProcessSpec spec) {
  ProcessResult result;
  ChildPipe out(ChildPipe::Ours::ReadEnd);
  ChildPipe err(ChildPipe::Ours::ReadEnd);
  const ChildFd input(open_input(spec.input), "standard input of a program");
  ChildFds fds;
  fds.in = input.get();
  fds.out = out.theirs;
  fds.err = err.theirs;
  const auto process = spawn(spec, fds);
  out.close_theirs();
  err.close_theirs();
  Scope scope;
  scope.spawn(drain(&out.ours, spec.output_limit, &result.out, &result.truncated));
  scope.spawn(drain(&err.ours, spec.output_limit, &result.err, &result.truncated));
  co_await until_ended(process.get());
  co_await scope.join();
  result.status = *process->status;
  co_return result;
}

namespace {

using Ours = ChildPipe::Ours;

std::unique_ptr<ChildStream> stream_of(ChildPipe& pipe) {
  return std::make_unique<ChildStream>(std::move(pipe.ours), ChildStream::Kind::Pipe);
}

std::unique_ptr<Process::Impl> spawn_with_terminal(const ProcessSpec& spec, ChildFds fds) {
  const int number = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (number < 0) throw errno_error("open a terminal", errno, Code::Internal);
  Fd ours(number);
  std::array<char, 64> name{};
  if (::grantpt(number) != 0 || ::unlockpt(number) != 0 || ::ptsname_r(number, name.data(), name.size()) != 0) {
    throw errno_error("open a terminal", errno, Code::Internal);
  }
  fds.terminal = name.data();
  auto process = spawn(spec, fds);
  process->output = std::make_unique<ChildStream>(std::move(ours), ChildStream::Kind::Terminal);
  process->terminal = true;
  return process;
}

std::unique_ptr<Process::Impl> spawn_with_pipes(const ProcessSpec& spec, ChildFds fds) {
  ChildPipe out(Ours::ReadEnd);
  ChildPipe err(Ours::ReadEnd);
  std::optional<ChildPipe> in;
  std::optional<ChildFd> given;
  if (spec.open_input) {
    fds.in = in.emplace(Ours::WriteEnd).theirs;
  } else {
    fds.in = given.emplace(open_input(spec.input), "standard input of a program").get();
  }
  fds.out = out.theirs;
  fds.err = err.theirs;
  auto process = spawn(spec, fds);
  process->output = stream_of(out);
  process->errors = stream_of(err);
  if (in) process->input = stream_of(*in);
  return process;
}

std::unique_ptr<Process::Impl> spawn_shared(const ProcessSpec& spec, ChildFds fds) {
  const ChildFd input(open_input(spec.input), "standard input of a program");
  std::optional<ChildFd> file;
  fds.in = input.get();
  fds.out = STDOUT_FILENO;
  fds.err = STDERR_FILENO;
  if (!spec.output_file.empty()) {
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    fds.out = fds.err = file.emplace(::open(spec.output_file.c_str(), flags, 0644), spec.output_file).get();
  }
  return spawn(spec, fds);
}

Stream& asked_for(const std::unique_ptr<ChildStream>& stream, std::string_view name) {
  if (stream == nullptr) throw Error(Code::Internal, fmt::format("a process without a stream for its {}", name));
  return *stream;
}

}  // namespace

Process::Process(const ProcessSpec& spec) {
  std::optional<ChildPipe> info;
  ChildFds fds;
  if (spec.open_info) fds.info = info.emplace(Ours::ReadEnd).theirs;
  switch (spec.stdio) {
    case Stdio::Shared: impl_ = spawn_shared(spec, std::move(fds)); break;
    case Stdio::Pipes: impl_ = spawn_with_pipes(spec, std::move(fds)); break;
    case Stdio::Terminal: impl_ = spawn_with_terminal(spec, std::move(fds)); break;
  }
  if (info) impl_->info_stream = stream_of(*info);
}

Process::~Process() = default;
Process::Process(Process&&) noexcept = default;
Process& Process::operator=(Process&&) noexcept = default;

Task<ExitStatus> Process::wait() {
  co_await until_ended(impl_.get());
  co_return *impl_->status;
}

void Process::signal(int number) noexcept {
  if (!impl_->status) ::kill(-impl_->pid, number);
}

int Process::pid() const { return impl_->pid; }

Stream& Process::input() { return asked_for(impl_->terminal ? impl_->output : impl_->input, "input"); }
Stream& Process::output() { return asked_for(impl_->output, "output"); }
Stream& Process::errors() { return asked_for(impl_->errors, "errors"); }
Stream& Process::info() { return asked_for(impl_->info_stream, "information"); }

void Process::resize(std::uint16_t columns, std::uint16_t rows) noexcept {
  if (!impl_->terminal) return;
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(impl_->output->fd(), TIOCSWINSZ, &size);
}

}  // namespace kopper::rt
