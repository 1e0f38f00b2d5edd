#include "kopper/rt/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kopper/base/error.h"
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
}

Process::Impl::~Impl() {
  if (pid > 0 && !status) reap();
}

namespace {

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

// posix_spawn's two parameter objects.
struct SpawnOptions {
  SpawnOptions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
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

std::unique_ptr<Process::Impl> spawn(const ProcessSpec& spec, int out, int err) {
  if (spec.argv.empty()) throw Error(Code::Invalid, "run a program: none is named");
  const ChildFd input(open_input(spec.input), "standard input of a program");
  SpawnOptions options;
  posix_spawn_file_actions_adddup2(&options.actions, input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&options.actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&options.actions, err, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&options.actions, 3);
  if (!spec.cwd.empty()) posix_spawn_file_actions_addchdir_np(&options.actions, spec.cwd.c_str());
  auto argv = spec.argv;
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

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw errno_error("pipe", errno, Code::Internal);
    write_end = ends[1];
    read_end = Fd(ends[0]);
  }
  ~Pipe() { close_write_end(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_write_end() {
    if (write_end >= 0) ::close(std::exchange(write_end, -1));
  }

  Fd read_end;
  int write_end = -1;
};

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
  Pipe out;
  Pipe err;
  const auto process = spawn(spec, out.write_end, err.write_end);
  out.close_write_end();
  err.close_write_end();
  Scope scope;
  scope.spawn(drain(&out.read_end, spec.output_limit, &result.out, &result.truncated));
  scope.spawn(drain(&err.read_end, spec.output_limit, &result.err, &result.truncated));
  co_await until_ended(process.get());
  co_await scope.join();
  result.status = *process->status;
  co_return result;
}

Process::Process(const ProcessSpec& spec) {
  if (spec.output_file.empty()) {
    impl_ = spawn(spec, STDOUT_FILENO, STDERR_FILENO);
    return;
  }
  const ChildFd file(::open(spec.output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644),
                     spec.output_file);
  impl_ = spawn(spec, file.get(), file.get());
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

}  // namespace kopper::rt
